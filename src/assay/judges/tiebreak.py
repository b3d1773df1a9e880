"""Of candidates that are tied after voting, the soft score decides: the pure part of it.

Owns: who wins by the soft scores of those alone. Does not own: who is tied
(``voting.ties``), asking the judge (``scoring``).
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.types import Outcome, Verdict


def softly_best(tied: Sequence[int], soft: Outcome) -> int | None:
    """Which of the ``tied`` candidates (indices of the whole item) has the highest soft score.

    Args:
        soft: what a soft judge (``tokenprob``) made of the item with those alone (``Item.picked``).

    Returns:
        None where the soft judgment failed or is a tie itself: then the tie stays one.
    """
    if not isinstance(soft, Verdict) or soft.scores is None or len(soft.scores) != len(tied):
        return None
    best = max(soft.scores)
    winners = [index for index, score in zip(tied, soft.scores, strict=True) if score == best]
    return winners[0] if len(winners) == 1 else None
