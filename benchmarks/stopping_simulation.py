"""How often the rules ``confident`` and ``certain`` end with another decision than all k votes, and after how many.

Part of ``voting_simulation.py``. A vote scores two (or more) candidates 6 + quality + noise, rounded to 1..10. What the
issue calls the vote sd is read as the sd of the difference of two candidates' scores in one vote before rounding: 1.5,
so 1.5 / sqrt 2 per score, independent. An item's lead is drawn from N(mean, item sd). The rules are computed here for
many items at once; a part of them goes through ``assay.voting.stopping.enough`` and must stop at the same vote.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from assay.core.stats import wilson
from assay.core.types import Draw, Verdict, Vote
from assay.voting.confident import LEAST_SHARE, boundary
from assay.voting.plan import Certain, Confident, Stop, VotePlan
from assay.voting.stopping import enough

Array = Any
SCALE = (1.0, 10.0)
WAVE = VotePlan().wave


@dataclass(frozen=True)
class Population:
    """Items: the lead of the first candidate over the others, which are equal; ``correlation`` of the noise of two."""

    name: str
    mean: float = 0.0
    item_sd: float = 0.0
    vote_sd: float = 1.5
    n: int = 2
    correlation: float = 0.0


POPULATIONS = (
    Population("lead 0.4, item sd 1", 0.4, 1.0),
    Population("lead 0.4, item sd 0.5", 0.4, 0.5),
    Population("lead 0.4, item sd 0.2", 0.4, 0.2),
    Population("no lead"),
    Population("no lead, vote sd 0.5", vote_sd=0.5),
    Population("no lead, vote sd 3", vote_sd=3.0),
    Population("no lead, 4 candidates", n=4),
    Population("no lead, 8 candidates", n=8),
    Population("no lead, noise correlated -0.9", correlation=-0.9),
)


def draw_scores(population: Population, items: int, k: int, rng: np.random.Generator) -> Array:
    """``[candidate, item, vote]``, whole numbers from 1 to 10."""
    rho = population.correlation
    noise = rng.standard_normal((population.n, items, k), dtype=np.float32)
    if rho:
        noise[1] = rho * noise[0] + math.sqrt(1 - rho * rho) * noise[1]
    noise *= population.vote_sd / math.sqrt(2 * (1 - rho))
    lead = (population.mean + population.item_sd * rng.standard_normal((items, 1))).astype(np.float32)
    noise[0] += lead / 2
    noise[1:] -= lead / 2
    return np.clip(np.round(6 + noise), *SCALE)


def stops(scores: Array, stop: Stop) -> Array:
    """After how many votes each item ends."""
    n, _, k = scores.shape
    m = np.arange(1, k + 1, dtype=np.float32)
    sums = np.cumsum(scores, 2)
    centred = scores - 6
    own = np.cumsum(centred**2, 2) - np.cumsum(centred, 2) ** 2 / m
    own = np.maximum(own, 0) / np.maximum(m - 1, 1)
    thresholds = None
    if isinstance(stop, Confident):
        needs = [boundary(votes, k, stop.delta, n=n, scored=True) for votes in range(1, k + 1)]
        thresholds = np.array(needs, dtype=np.float32)
    safe = [np.ones(scores.shape[1:], dtype=bool) for _ in range(n)]
    sure = [np.ones(scores.shape[1:], dtype=bool) for _ in range(n)]
    for first, second in combinations(range(n), 2):
        lead = sums[first] - sums[second]
        overturn = (SCALE[1] - SCALE[0]) * (k - m)
        needed = overturn
        if thresholds is not None:
            square = np.cumsum((scores[first] - scores[second]) ** 2, 1) / m
            needed = thresholds * np.sqrt(np.maximum(own[first] + own[second], LEAST_SHARE * square)) - 1e-4
        for index, ahead in ((first, lead), (second, -lead)):
            safe[index] &= (ahead > 0) & (ahead >= needed)
            sure[index] &= ahead > overturn
    certain = np.any(sure, axis=0)
    certain[:, : (k + 1) // 2 - 1] = False
    ends = certain | np.any(safe, axis=0) if thresholds is not None else certain
    ends[:, -1] = True
    return ends.argmax(1) + 1


def check_against_product(scores: Array, stop: Stop, taken: Array) -> None:
    """The product's own functions stop at the same votes."""
    n, items, k = scores.shape
    plan = VotePlan(k=k, stop=stop)
    for item in range(items):
        votes: list[Vote] = []
        for vote in range(k):
            verdict = Verdict(scores=tuple(float(scores[candidate, item, vote]) for candidate in range(n)))
            votes.append(Vote(draw=Draw(vote=vote, seed=vote, order=tuple(range(n))), outcome=verdict))
            if vote == k - 1 or enough(plan, votes, how="sum", n=n, scale=SCALE, elapsed_s=0):
                break
        assert len(votes) == taken[item], f"item {item}: {len(votes)} votes here, {taken[item]} in the simulation"


@dataclass(frozen=True)
class Found:
    """Over all seeds; ``votes`` and ``begun`` (with those aborted in flight) are means over the items without a tie.

    ``over``: seeds whose error is above delta beyond chance (95 % interval).
    """

    decided: int
    tied: int
    wrong: int
    votes: float
    begun: float
    worst_seed: float
    over: int


def simulate(population: Population, stop: Stop, *, k: int, items: int, seeds: Iterable[int], checked: int) -> Found:
    """Run the rule on ``items`` items per seed; the first seed's first ``checked`` go through the product as well."""
    decided = tied = wrong = over = 0
    votes = begun = worst = 0.0
    delta = stop.delta if isinstance(stop, Confident) else 0.0
    for number, seed in enumerate(seeds):
        scores = draw_scores(population, items, k, np.random.default_rng(seed))
        taken = stops(scores, stop)
        if number == 0:
            check_against_product(scores[:, :checked], stop, taken)
        sums = np.cumsum(scores, 2)
        final = sums[:, :, -1]
        clear = (final == final.max(0)).sum(0) == 1
        there = np.take_along_axis(sums, (taken - 1)[None, :, None], 2)[:, :, 0]
        missed = int((there.argmax(0) != final.argmax(0))[clear].sum())
        decided, tied, wrong = decided + int(clear.sum()), tied + int((~clear).sum()), wrong + missed
        votes += float(taken[clear].sum())
        begun += float(np.minimum(taken[clear] + WAVE - 1, k).sum())
        worst = max(worst, missed / max(int(clear.sum()), 1))
        over += missed > 0 and wilson(missed, int(clear.sum()))[0] > delta
    return Found(decided, tied, wrong, votes / decided, begun / decided, worst, over)


def rules(delta: float) -> tuple[tuple[str, Stop], ...]:
    return ((f"confident({delta:g})", Confident(delta=delta)), ("certain", Certain()))
