"""Agreement with labels: how often the judge is right, kappa with gold, and where several people labelled the same
items, how far it agrees with them and they with each other.

Labels are nominal: which answer is the best one, or a tie; of a single answer, right or wrong.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import combinations

from assay.core.stats import auc

from .figure import Figure, Section, bootstrapped, measured, share
from .kappa import alpha, kappa
from .looks import Look, only

Labels = tuple[str, ...]
Scored = tuple[float, float]
"""Score and gold, 0 or 1, of one answer."""
Scale = tuple[float, float] | None


def agreement_section(base: Sequence[Look], scale: Scale, *, alone: bool, seed: int = 0) -> Section:
    """The figures over items as they are, in one order, drawn.

    Args:
        scale: of the judge. alone: the judge looks at one answer at a time, so that each of them is accepted or not.
    """
    section = Section(
        name="agreement",
        title="Agreement with labels",
        about="A tie with the better answer counts as wrong. Kappa and alpha: 0 is chance, 1 is perfect.",
    )
    figures = measured(*_pairs(base, seed), *_singles(base, scale, alone, seed), *_people(base, scale, seed))
    if not figures:
        return section.model_copy(update={"absent": "no item has a label"})
    return section.model_copy(update={"figures": figures, "findings": _findings(figures)})


def label(rewards: Sequence[float], scale: Scale = None, order: Sequence[int] = ()) -> str | None:
    """What scores or rewards say: the place of the best answer, ``tie``, or of a single one ``right`` or ``wrong``.

    Args:
        order: the places by which the answers are named; as they stand unless said.

    Returns:
        None: a single score without a scale.
    """
    if len(rewards) > 1:
        place = only(rewards)
        return "tie" if place is None else str((order[place] if order else place) + 1)
    return None if scale is None else "right" if rewards[0] > sum(scale) / 2 else "wrong"


def scored(base: Sequence[Look], *, alone: bool) -> list[Scored]:
    """Scores beside gold of 0 or 1, of answers that were judged on their own."""
    return [
        pair
        for look in base
        if look.scores is not None and look.gold is not None and (alone or look.item.n == 1)
        for pair in zip(look.scores, look.gold, strict=True)
        if pair[1] in (0.0, 1.0)
    ]


def _pairs(base: Sequence[Look], seed: int) -> list[Figure]:
    several = [look for look in base if look.item.n > 1 and look.gold is not None]
    if not several:
        return []
    clear = [look for look in several if look.better is not None]
    read = [look for look in several if look.scores is not None]
    failed = len(several) - len(read)
    both = [(str(label(look.scores or ())), str(label(look.gold or ()))) for look in read]
    return [
        share(
            "right",
            [look.right for look in clear if look.right is not None],
            failed=sum(look.scores is None for look in clear),
            blind=0.5,
        ),
        share("no winner", [look.winner is None for look in read], failed=failed),
        bootstrapped("kappa with gold", both, kappa, seed=seed, failed=failed),
    ]


def _singles(base: Sequence[Look], scale: Scale, alone: bool, seed: int) -> list[Figure]:
    pairs = scored(base, alone=alone)
    failed = sum(look.item.n for look in base if look.scores is None and (alone or look.item.n == 1))
    if not pairs and not failed:
        return []
    area = bootstrapped("right answers above wrong ones (AUC)", pairs, _area, seed=seed, failed=failed, blind=0.5)
    if scale is None:
        return [area]
    said = [(str(label((score,), scale)), str(label((gold,), (0.0, 1.0)))) for score, gold in pairs]
    accepted = [one == "right" for one, gold in said if gold == "right"]
    refused = [one == "wrong" for one, gold in said if gold == "wrong"]
    return [
        share("right answers accepted", accepted, failed=failed),
        share("wrong answers refused", refused),
        area,
        bootstrapped("kappa with gold, one by one", said, kappa, seed=seed, failed=failed),
    ]


def _people(base: Sequence[Look], scale: Scale, seed: int) -> list[Figure]:
    """The people among themselves, and the judge as one of them.

    Answers are named by their place in the file, so that what is said of the people is the same in every audit.
    """
    units: list[tuple[Labels, str | None]] = []
    for look in base:
        theirs = tuple(str(label(one, (0.0, 1.0), look.tag.order)) for one in look.tag.humans if one is not None)
        if len(theirs) > 1 and len(theirs) == len(look.tag.humans):
            own = None if look.scores is None else label(look.scores, scale, look.tag.order)
            units.append((theirs, own))
    if not units:
        return []
    people = max(len(theirs) for theirs, _ in units)
    among = [theirs for theirs, _ in units]
    with_judge = [(*theirs, own) for theirs, own in units if own is not None]
    failed = len(units) - len(with_judge)
    same = [unit for unit in among if len(unit) == people]
    beside = [unit for unit in with_judge if len(unit) == people + 1]
    return [
        bootstrapped(f"alpha among {people} people", among, alpha, seed=seed),
        bootstrapped("alpha with the judge as one more", with_judge, alpha, seed=seed, failed=failed),
        bootstrapped("kappa of two people, mean", same, _mean_kappa(people), seed=seed),
        bootstrapped("kappa of judge and person, mean", beside, _judge_kappa(people), seed=seed, failed=failed),
    ]


def _mean_kappa(people: int) -> Callable[[Sequence[Labels]], float | None]:
    return lambda units: _mean(
        [kappa((unit[one], unit[other]) for unit in units) for one, other in combinations(range(people), 2)]
    )


def _judge_kappa(people: int) -> Callable[[Sequence[Labels]], float | None]:
    return lambda units: _mean([kappa((unit[-1], unit[person]) for unit in units) for person in range(people)])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _area(pairs: Sequence[Scored]) -> float | None:
    return auc([score for score, gold in pairs if gold == 1.0], [score for score, gold in pairs if gold == 0.0])


def _findings(figures: Sequence[Figure]) -> tuple[str, ...]:
    """Whether the judge can be told from chance at all: without that no other figure says much."""
    told = [f for f in figures if f.name in ("right", "right answers above wrong ones (AUC)") and f.low is not None]
    if not told or any(f.low is not None and f.low > 0.5 for f in told):
        return ()
    if all(f.high is not None and f.high < 0.5 for f in told):
        return ("worse than chance: look for swapped labels or a swapped scale before anything else",)
    return ("cannot be told from chance: its verdicts are plumbing here, not quality",)
