"""From demands to an item: the instruction, texts that keep or break its demands, and what the checkers find.

Gold is decided by the checkers alone: 1 where every demand is kept. What a text was made to do counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..assembly import build, size_of
from ..draws import Draws
from ..record import Candidate, Criterion, Generated, Shape
from .demand import ORDER, Demand, MakeDemand
from .draft import fresh
from .prose import TASKS, subject

_TRIES = 12
"""So often a text is drawn that is to keep, or to break, its demands; then the further demands are given up."""


def maker(primary: MakeDemand, others: Sequence[MakeDemand]) -> Callable[[Draws, Shape], Generated]:
    """The function of a kind: items whose first demand is ``primary``, some with one or two of ``others`` beside it."""

    def make(draws: Draws, shape: Shape) -> Generated:
        first = primary(draws)
        demands = [first, *_further(draws, first, others)]
        about = subject(draws)
        place, task = draws.text(TASKS[draws.language])
        size = size_of(draws, shape)
        right = size > 1 or draws.chance(0.5)
        candidates = _candidates(draws, demands, size, right)
        if candidates is None:
            demands = [first]
            candidates = _candidates(draws, demands, size, right) or []
        gap = "" if draws.language == "zh" else " "
        said = [demand.text for demand in demands]
        if first.part != "whole" or first.name == "json":
            said.insert(0, task.replace("{subject}", about))
        return build(
            draws,
            shape,
            kind=draws.kind,
            question=gap.join(said),
            template=f"{draws.kind}.{draws.language}.{draws.side}.{place}.{first.place}",
            reference=None,
            candidates=draws.shuffled(candidates),
            criteria=_criteria(demands),
        )

    return make


def _further(draws: Draws, first: Demand, others: Sequence[MakeDemand]) -> list[Demand]:
    """None, one or two more demands, each on another part of the text."""
    if first.part == "whole":
        return []
    found: list[Demand] = []
    for make in draws.some(others, min(len(others), 4)):
        if len(found) == draws.pick((0, 0, 1, 1, 2)):
            break
        demand = make(draws)
        if demand.part not in {first.part, "whole", *(one.part for one in found)}:
            found.append(demand)
    return found


def _criteria(demands: Sequence[Demand]) -> tuple[Criterion, ...]:
    share = 100 // len(demands)
    weights = [100 - share * (len(demands) - 1), *([share] * (len(demands) - 1))]
    return tuple(Criterion(demand.title, demand.asks, weight) for demand, weight in zip(demands, weights, strict=True))


def _candidates(draws: Draws, demands: Sequence[Demand], size: int, right: bool) -> list[Candidate] | None:
    """``size`` texts, the first one right if ``right``; None where the demands cannot be kept together."""
    found: list[Candidate] = []
    texts: set[str] = set()
    for at in range(size):
        candidate = _candidate(draws, demands, keep=right and at == 0, taken=texts)
        if candidate is None:
            return None
        texts.add(candidate.text)
        found.append(candidate)
    return found


def _candidate(draws: Draws, demands: Sequence[Demand], *, keep: bool, taken: set[str]) -> Candidate | None:
    for _ in range(_TRIES):
        broken = [] if keep else draws.some(demands, draws.between(1, len(demands)))
        draft = fresh(draws)
        for demand in sorted(demands, key=lambda one: ORDER.index(one.part)):
            (demand.breaks if demand in broken else demand.keep)(draft)
        text = draft.text()
        findings = tuple(demand.check(text) for demand in demands)
        met = all(finding.met for finding in findings)
        if met == keep and text not in taken:
            missed = [demand.name for demand, finding in zip(demands, findings, strict=True) if not finding.met]
            return Candidate(text, float(met), " + ".join(missed) or "kept", findings)
    return None
