"""Whether a verdict is right, against gold: DeepSeek-GRM eq. 10 (for training a meta RM) and eq. 11 (the RL reward).

Pure. A tie with the best is wrong here, whatever a benchmark makes of it (``ties.credit``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def gold_best(gold: Sequence[float]) -> int | None:
    """The index of the one highest gold reward; None where several share it, so that no verdict could be right."""
    highest = max(gold)
    return None if list(gold).count(highest) > 1 else list(gold).index(highest)


def is_correct(scores: Sequence[float], gold: Sequence[float]) -> bool:
    """Several candidates: the best of ``gold`` scored above each other one. A single one: its score equals its gold.

    Raises:
        ValueError: not as many scores as gold rewards, or several candidates and no single best in ``gold``.
    """
    if len(scores) != len(gold) or not gold:
        raise ValueError(f"{len(scores)} scores and {len(gold)} gold rewards: as many of both are needed, at least one")
    if len(gold) == 1:
        return math.isclose(scores[0], gold[0], rel_tol=0.0, abs_tol=1e-9)
    best = gold_best(gold)
    if best is None:
        raise ValueError(f"gold {tuple(gold)} has no single best candidate")
    return all(scores[best] > score for index, score in enumerate(scores) if index != best)


def reward(scores: Sequence[float] | None, gold: Sequence[float]) -> int:
    """+1 where the verdict is right, -1 where it is wrong or could not be read (None): no reward for form."""
    return 1 if scores is not None and is_correct(scores, gold) else -1


def pair_choice(preference: float) -> int:
    """PairRM (DeepSeek-GRM eq. 5): which of two candidates a signed preference means; 0 for none means the first."""
    return 1 if preference < 0 else 0
