"""What a benchmark run consists of: passes over all units, each with its plan of votes, its temperature and its file.

Greedy is a pass of its own at temperature 0, for a vote of k = 1 at temperature 0.5 is something else. Voting and meta
RM for every smaller k come out of the one pass with all k votes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Reduce
from assay.judges.base import Judge
from assay.judges.pairwise import PairwiseJudge
from assay.scoring.batch import Judging
from assay.voting.plan import Orders, VotePlan

from ..benchmark import Benchmark
from ..counting import Counting, Failures, Ties, middle
from .candidates import Varies

AskedOrders = Literal["shuffle", "balanced", "fixed", "both"]

GREEDY, VOTES, SEED = "greedy", "votes", "seed-"
"""Names of passes; the passes of other seeds are ``seed-1``, ``seed-2``, ..."""


class RunPlan(Config):
    """How much is asked and how it counts."""

    k: int | None = Field(default=None, ge=1, le=4096)
    """Votes at temperature 0.5 (in each order, with --orders both); every smaller k comes out of the same votes.
    Without it only the greedy pass is made."""
    greedy: bool = True
    """A pass of its own at temperature 0, to compare votes with."""
    orders: AskedOrders | None = None
    """shuffle: a seeded order for every vote; balanced; fixed: that of the file; both: each pair in both orders. As the
    benchmark's own rule has it unless said: both for JudgeBench, else shuffle."""
    reduce: Reduce | None = None
    """How votes become one; the judge's own way unless said."""
    min_valid: int | None = Field(default=None, ge=1)
    """Fewest votes with a verdict; half of those drawn unless said."""
    k_meta: int | None = Field(default=None, ge=1)
    """How many votes the meta RM keeps; half of k unless said. 1, 8, 16 and k are shown beside it."""
    seeds: int = Field(default=1, ge=1)
    """So many seeds for the single-order pass: by how much does the score depend on the order of the answers?"""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many cases of each subset: a trial, no official score."""
    bootstrap: int = Field(default=1000, ge=0)
    """Resamples of the cases for the intervals; 0 for none."""
    ties: Ties = "official"
    """What a tie is worth: as the benchmark's own code has it, its share, nothing, or a seeded draw."""
    failures: Failures = "official"
    """What a failed judgment is worth: official, strict, excluded, or the lenient reading of the same text."""

    threshold: float | None = None
    """A single answer with at least this score is said to have no error, for precision, recall and F1 (realmistake);
    the middle of the judge's scale unless said."""

    def counting(self, *, scalar: bool, seed: int, scale: tuple[float, float] | None = None) -> Counting:
        """How the score is counted. ``scale``: the judge's, where it has one."""
        threshold = middle(scale) if self.threshold is None else self.threshold
        return Counting(ties=self.ties, failures=self.failures, scalar=scalar, seed=seed, threshold=threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass over all units. ``greedy``: at temperature 0."""

    name: str
    plan: VotePlan
    seed: int
    greedy: bool
    both: bool
    """Each pair is asked in both orders, by successive votes."""

    @property
    def times(self) -> int:
        """Votes for each of k: one in each order."""
        return 2 if self.both else 1

    def file(self, folder: Path) -> Path:
        """Where its votes are."""
        return folder / f"{self.name}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who answers: the judge, and who is asked for it.

    ``backend``: made anew for each pass, in the event loop of its run. ``lenient``: the same judge with the forgiving
    parser. ``varies``: what makes two votes differ. ``tempers``: its temperature is ours to set.
    """

    judge: Judge
    backend: Callable[[Pass], Judging]
    lenient: Judge | None = None
    scalar: bool = False
    varies: Varies = "samples"
    tempers: bool = True
    meta: str | None = None


def orders_of(benchmark: Benchmark, judge: Judge, asked: AskedOrders | None) -> AskedOrders:
    """In which orders candidates are shown.

    Raises:
        InputError: both orders of what is no pair, or of a judge that asks both itself.
    """
    orders = asked or ("both" if benchmark.orders == "both" else "shuffle")
    if orders == "both" and benchmark.kind != "pair":
        raise InputError(
            f"--orders both is for pairs, and {benchmark.name!r} has lists or single answers: take balanced"
        )
    if orders == "both" and isinstance(judge, PairwiseJudge) and judge.both_orders:
        raise InputError("the judge's option both_orders hides what it said in each order: leave it out here")
    # Who looks at one candidate at a time has no order.
    return "shuffle" if orders == "both" and judge.per_candidate else orders


def passes(benchmark: Benchmark, asker: Asker, plan: RunPlan, seed: int) -> tuple[Pass, ...]:
    """The passes of a run.

    Raises:
        InputError: options that do not go together; as ``orders_of``.
    """
    orders = orders_of(benchmark, asker.judge, plan.orders)
    _check(asker, plan)
    both = orders == "both"
    shown: Orders = "balanced" if orders == "both" else orders
    times = 2 if both else 1
    one = VotePlan(k=times, orders=shown, ties="half")
    found: list[Pass] = []
    if asker.tempers and (plan.greedy or plan.k is None):
        found.append(Pass(name=GREEDY, plan=one, seed=seed, greedy=True, both=both))
    if plan.k is not None or not asker.tempers:
        votes = VotePlan(
            k=times * (plan.k or 1),
            orders=shown,
            ties="half",
            reduce=plan.reduce,
            min_valid=plan.min_valid,
            meta=asker.meta,
            k_meta=None if plan.k_meta is None else times * plan.k_meta,
        )
        found.append(Pass(name=VOTES, plan=votes, seed=seed, greedy=False, both=both))
    if seeds_matter(asker, orders):
        single = VotePlan(k=1, orders=shown, ties="half")
        found += [
            Pass(name=f"{SEED}{other}", plan=single, seed=other, greedy=asker.tempers, both=False)
            for other in range(seed + 1, seed + plan.seeds)
        ]
    return tuple(found)


def seeds_matter(asker: Asker, orders: AskedOrders) -> bool:
    """Whether another seed can change a single answer at temperature 0: it draws the order."""
    return orders in ("shuffle", "balanced") and not asker.judge.per_candidate and asker.varies != "nothing"


def _check(asker: Asker, plan: RunPlan) -> None:
    if asker.varies == "nothing" and plan.k not in (None, 1):
        raise InputError(f"--k {plan.k}: {asker.judge.name!r} says the same every time, so there is nothing to vote on")
    if asker.meta is not None and plan.k in (None, 1):
        raise InputError("a meta RM chooses among votes: name how many with --k")
    if plan.k_meta is not None and asker.meta is None:
        raise InputError(f"--k-meta {plan.k_meta} needs a meta RM: name it with --meta")
    if not plan.greedy and asker.tempers:
        if plan.k is None:
            raise InputError("--no-greedy leaves nothing to ask: say how many votes with --k")
        if plan.seeds > 1:
            raise InputError("--seeds compares greedy passes: leave --no-greedy out")


def sweep(k: int) -> Sequence[int]:
    """The numbers of votes that a meta RM is shown with, besides half of them."""
    return sorted({kept for kept in (1, 8, 16, k) if kept <= k})
