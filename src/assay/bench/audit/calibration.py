"""Calibration: is a high score as often right as it says, and a large margin more often than a small one?"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from assay.core.stats import auc, wilson

from .agreement import Scale, Scored, scored
from .figure import Section, Table, bootstrapped
from .looks import Look

BINS = 5
FAR = 0.15
"""A calibration error above this is a finding."""

Margin = tuple[float, bool]
"""How far the winner of a pair is ahead, and whether it is the right one."""


def calibration_section(base: Sequence[Look], scale: Scale, *, alone: bool, seed: int = 0) -> Section:
    """The figures of scores as probabilities, or of margins.

    Args:
        scale: of the judge. alone: the judge looks at one answer at a time.
    """
    section = Section(
        name="calibration",
        title="Calibration",
        about="Scores of single answers, read as the probability of being right, beside how many are; of pairs, how "
        "often the winner is right, by how far it is ahead.",
    )
    singles = [((s - scale[0]) / (scale[1] - scale[0]), g) for s, g in scored(base, alone=alone)] if scale else []
    if singles:
        error = bootstrapped("calibration error (ECE)", singles, _ece, seed=seed, blind=None)
        rate = statistics.fmean(gold for _, gold in singles)
        brier = bootstrapped("Brier score", singles, _brier, seed=seed, blind=rate * (1 - rate))
        findings = ("its scores are no probabilities: do not read 0.9 as nine of ten",)
        far = error.low is not None and error.low > FAR
        return section.model_copy(
            update={"figures": (error, brier), "tables": (_bins(singles),), "findings": findings if far else ()}
        )
    margins = _margins(base)
    if len({margin for margin, _ in margins}) < 2:
        reason = "verdicts name the better answer and say no more" if margins else "no scored answer has a label"
        return section.model_copy(update={"absent": reason})
    area = bootstrapped("a larger margin where right (AUC)", margins, _area, seed=seed, blind=0.5)
    return section.model_copy(update={"figures": (area,), "tables": (_by_margin(margins),)})


def _margins(base: Sequence[Look]) -> list[Margin]:
    return [
        (abs(look.scores[0] - look.scores[1]), look.right)
        for look in base
        if look.item.n == 2 and look.scores is not None and look.winner is not None and look.right is not None
    ]


def _place(score: float) -> int:
    return min(int(score * BINS), BINS - 1)


def _ece(pairs: Sequence[Scored]) -> float | None:
    """The mean distance of score and share of right ones, over equally wide bins by how many are in them."""
    if not pairs:
        return None
    total = 0.0
    for place in range(BINS):
        own = [(score, gold) for score, gold in pairs if _place(score) == place]
        total += abs(sum(score - gold for score, gold in own))
    return total / len(pairs)


def _brier(pairs: Sequence[Scored]) -> float | None:
    return statistics.fmean((score - gold) ** 2 for score, gold in pairs) if pairs else None


def _area(margins: Sequence[Margin]) -> float | None:
    return auc([margin for margin, right in margins if right], [margin for margin, right in margins if not right])


def _bins(pairs: Sequence[Scored]) -> Table:
    rows: list[tuple[str, ...]] = []
    for place in range(BINS):
        own = [(score, gold) for score, gold in pairs if _place(score) == place]
        if own:
            mean = statistics.fmean(score for score, _ in own)
            rows.append((f"{place / BINS:.1f}-{(place + 1) / BINS:.1f}", str(len(own)), f"{mean:.2f}", *_share(own)))
    return Table(title="Reliability", columns=("score", "answers", "mean score", "right", "95 %"), rows=tuple(rows))


def _by_margin(margins: Sequence[Margin]) -> Table:
    """Bins with about equally many pairs; equal margins stay together."""
    ranked = sorted(margins)
    size = max(1, len(ranked) // BINS)
    bins: list[list[Margin]] = []
    for entry in ranked:
        if not bins or (len(bins[-1]) >= size and entry[0] != bins[-1][-1][0] and len(bins) < BINS):
            bins.append([])
        bins[-1].append(entry)
    rows = [
        (f"{own[0][0]:g}-{own[-1][0]:g}", str(len(own)), *_share([(m, float(right)) for m, right in own]))
        for own in bins
    ]
    return Table(title="By margin", columns=("margin", "pairs", "right", "95 %"), rows=tuple(rows))


def _share(own: Sequence[Scored]) -> tuple[str, str]:
    hits = int(sum(gold for _, gold in own))
    low, high = wilson(hits, len(own))
    return f"{hits / len(own):.2f}", f"{low:.2f}-{high:.2f}"
