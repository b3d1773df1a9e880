"""Pairs for the pointwise judge: greedy in both orders, and votes whose scores are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.core.types import Draw, Item, Verdict
from assay.judges.base import content_hash
from assay.judges.pointwise import PointwiseJudge
from assay.voting.draws import make_draw

from .sets import Measured

if TYPE_CHECKING:
    from .fast import Fast

TEMPERATURE = 0.5
"""That of the votes."""
VOTES = 8


def measure_pairs(model: Fast, measured: Sequence[Measured], *, new_tokens: int = 200) -> dict[str, Any]:
    """Accuracy, ties and texts without a verdict: greedily in the order given, swapped, and of ``VOTES`` votes."""
    judge = PointwiseJudge()
    items = [one.item for one in measured]
    found: dict[str, Any] = {}
    for name, order in (("greedy", (0, 1)), ("swapped", (1, 0))):
        draws = [Draw(vote=0, seed=0, order=order) for _ in items]
        read = model.read(judge, items, draws, new_tokens=new_tokens)
        found[name] = rates(items, [_scores([one]) for one in read])
        found[name]["kind"] = _by_kind(measured, [_scores([one]) for one in read])
    votes: list[list[Verdict | None]] = [[] for _ in items]
    for vote in range(VOTES):
        draws = [make_draw(judge.asks, content_hash(judge, item), item.n, vote=vote) for item in items]
        texts = model.read(judge, items, draws, new_tokens=new_tokens, temperature=TEMPERATURE)
        for place, one in enumerate(texts):
            votes[place].append(one)
    found["vote 1"] = rates(items, [_scores(each[:1]) for each in votes])
    found[f"vote {VOTES}"] = rates(items, [_scores(each) for each in votes])
    return found


def rates(items: Sequence[Item], scores: Sequence[tuple[float, ...] | None]) -> dict[str, float]:
    """Shares of all items. A tie and a text without a verdict are wrong."""
    right = tied = silent = 0
    for item, found in zip(items, scores, strict=True):
        assert item.gold is not None
        if found is None:
            silent += 1
        elif len(set(found)) == 1:
            tied += 1
        else:
            right += found.index(max(found)) == item.gold.index(max(item.gold))
    n = len(items)
    return {"n": n, "accuracy": right / n, "ties": tied / n, "no_verdict": silent / n}


def _scores(votes: Sequence[Verdict | None]) -> tuple[float, ...] | None:
    """The sum of the votes that hold; None where none does."""
    kept = [one.scores for one in votes if one is not None and one.scores is not None]
    return tuple(map(sum, zip(*kept, strict=True))) if kept else None


def _by_kind(measured: Sequence[Measured], scores: Sequence[tuple[float, ...] | None]) -> dict[str, float]:
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(measured):
        groups.setdefault(one.kind, []).append(place)
    return {
        kind: rates([measured[p].item for p in places], [scores[p] for p in places])["accuracy"]
        for kind, places in sorted(groups.items())
    }
