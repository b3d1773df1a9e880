"""What voting, a meta RM, orders and early stopping do to a synthetic judge of known accuracy, position bias and noise.

    OMP_NUM_THREADS=2 python benchmarks/voting_simulation.py [--items 20000] [--seeds 200] [--out voting.png]

The judge scores two candidates 6 + or - half the item's gap, plus noise, plus ``bias`` for the one shown first, rounded
to 1..10. Orders are the product's own; what is computed for all items at once is computed for a part of them by the
product's functions too (``decide``, ``settle``, ``enough``), and the results must be equal. It says nothing about real
judges: it shows that the machinery does what its formulas say.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from assay.core.seeds import derive_seed
from assay.core.types import Draw, Verdict, Vote
from assay.voting.decide import decide, settle
from assay.voting.orders import order_of
from assay.voting.plan import Orders, VotePlan
from assay.voting.reducers import reduce_votes
from assay.voting.ties import choose
from png_chart import Panel, save_chart
from stopping_simulation import POPULATIONS, rules, simulate

Array = Any
KS = (1, 2, 4, 8, 16, 32)
AUCS = (0.6, 0.7, 0.8, 0.9)
CHECKED = 400


@dataclass(frozen=True)
class JudgeModel:
    """``gap``: mean lead of the right answer, ``item_sd`` around it; ``bias``: points for standing first."""

    gap: float = 0.4
    item_sd: float = 1.0
    noise_sd: float = 1.1
    bias: float = 0.5


def drawn_orders(kind: Orders, items: int, k: int) -> Array:
    """Whether the first candidate stands first, ``[item, vote]``; by the product's own orders."""
    first = np.empty((items, k), dtype=bool)
    for item in range(items):
        for vote in range(k):
            order = order_of(kind, 2, vote, item_seed=item, vote_seed=item * 4096 + vote)
            first[item, vote] = order[0] == 0
    return first


def judged(model: JudgeModel, first: Array, rng: np.random.Generator) -> Array:
    """Scores ``[candidate, item, vote]``; candidate 0 is the right one."""
    items, k = first.shape
    gap = (model.gap + model.item_sd * rng.standard_normal((items, 1))) / 2
    scores = np.stack([6 + gap, 6 - gap]) + model.noise_sd * rng.standard_normal((2, items, k))
    scores += model.bias * np.stack([first, ~first])
    return np.clip(np.round(scores), 1, 10)


def meta_logits(scores: Array, auc: float, rng: np.random.Generator) -> Array:
    """Logits that tell votes that are right (DeepSeek-GRM eq. 10) from others with this AUC."""
    right = scores[0] > scores[1]
    return math.sqrt(2) * NormalDist().inv_cdf(auc) * right + rng.standard_normal(right.shape)


def sums_at(scores: Array, k: int, meta: Array | None) -> Array:
    """Summed scores ``[candidate, item]`` of the first ``k`` votes, or of the half that the meta RM puts highest."""
    if meta is None or k == 1:
        return scores[:, :, :k].sum(2)
    keep = np.argsort(-meta[:, :k], axis=1, kind="stable")[:, : (k + 1) // 2]
    return np.take_along_axis(scores[:, :, :k], keep[None], 2).sum(2)


def check(scores: Array, k: int, meta: Array | None, sums: Array) -> None:
    """The product comes to the same sums, and to the candidate that its rule for ties names."""
    plan = VotePlan(k=k, meta=None if meta is None else "meta")
    for item in range(CHECKED):
        votes = [
            Vote(
                draw=Draw(vote=vote, seed=vote, order=(0, 1)),
                outcome=Verdict(scores=(float(scores[0, item, vote]), float(scores[1, item, vote]))),
                meta=None if meta is None else float(meta[item, vote]),
            )
            for vote in range(k)
        ]
        seed = derive_seed(str(item), "", 0, "tie")
        outcome = settle(decide(votes, plan, "sum", 2).outcome, plan, seed)
        own = (float(sums[0, item]), float(sums[1, item]))
        assert isinstance(outcome, Verdict)
        assert outcome.scores == own
        assert outcome.choice == choose(own, "random", seed)


def voting_curves(console: Console, items: int) -> list[Panel]:
    rng = np.random.default_rng(4)
    scores = judged(JudgeModel(), drawn_orders("shuffle", items, KS[-1]), rng)
    metas = {None: None} | {auc: meta_logits(scores, auc, rng) for auc in AUCS}
    table = Table(title=f"{items:,} items, shuffled orders; a tie counts half (as a random choice does on average)")
    for name in ("k", "Voting@k", *(f"meta AUC {auc:g}" for auc in AUCS), "ties", "ties, meta 0.8", "different sums"):
        table.add_column(name, justify="right")
    accuracy: dict[float | None, list[float]] = {auc: [] for auc in metas}
    ties: dict[float | None, list[float]] = {auc: [] for auc in metas}
    for k in KS:
        for auc, meta in metas.items():
            sums = sums_at(scores, k, meta)
            check(scores, k, meta, sums)
            tied = sums[0] == sums[1]
            accuracy[auc].append(float(((sums[0] > sums[1]) + 0.5 * tied).mean()))
            ties[auc].append(float(tied.mean()))
        shares = (f"{accuracy[auc][-1]:.1%}" for auc in metas)
        seen = len(np.unique(sums_at(scores, k, None)))
        table.add_row(str(k), *shares, f"{ties[None][-1]:.1%}", f"{ties[0.8][-1]:.1%}", f"{seen} of {9 * k + 1}")
    console.print(table)
    names = {None: "VOTING", **{auc: f"META AUC {auc:g}" for auc in AUCS}}
    return [
        Panel("ACCURACY OF VOTING@K", KS, {names[auc]: line for auc, line in accuracy.items()}),
        Panel("SHARE OF TIES", KS, {"VOTING": ties[None], "META AUC 0.8": ties[0.8]}),
    ]


def majority_table(console: Console, items: int) -> None:
    """Votes that name the better of two with probability p, beside the binomial sum."""
    rng = np.random.default_rng(6)
    table = Table(title=f"{items:,} items, independent ballots, right with probability p: measured / exact")
    table.add_column("k", justify="right")
    odds = (0.55, 0.6, 0.7)
    for p in odds:
        table.add_column(f"p = {p:g}", justify="right")
    for k in KS:
        cells: list[str] = []
        for p in odds:
            right = rng.binomial(k, p, items)
            measured = float(((2 * right > k) + 0.5 * (2 * right == k)).mean())
            chance = [math.comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(k + 1)]
            exact = sum(c * (1.0 if 2 * i > k else 0.5 if 2 * i == k else 0.0) for i, c in enumerate(chance))
            verdicts = [Verdict(choice=0)] * int(right[0]) + [Verdict(choice=1)] * (k - int(right[0]))
            assert reduce_votes("majority", verdicts, 2) == (right[0], k - right[0])
            cells.append(f"{measured:.1%} / {exact:.1%}")
        table.add_row(str(k), *cells)
    console.print(table)


def orders_table(console: Console, items: int) -> Panel:
    """Equally good candidates and a large position bias, so that what orders leave of it can be seen."""
    model = JudgeModel(gap=0.0, item_sd=0.0, noise_sd=0.7, bias=1.0)
    kinds: tuple[Orders, ...] = ("fixed", "shuffle", "balanced")
    table = Table(title=f"{items:,} items without a lead, noise sd 0.7, 1 point for standing first: the mean lead")
    for name in ("k", *(f"{kind}: {what}" for kind in kinds for what in ("bias", "variance", "left of order"))):
        table.add_column(name, justify="right")
    variance: dict[Orders, list[float]] = {kind: [] for kind in kinds}
    firsts = {kind: drawn_orders(kind, items, 16) for kind in kinds}
    leads = {kind: np.subtract(*judged(model, first, np.random.default_rng(5))) for kind, first in firsts.items()}
    ks = (1, 2, 4, 8, 16)
    for k in ks:
        cells: list[str] = []
        for kind in kinds:
            mean = leads[kind][:, :k].mean(1)
            share = firsts[kind][:, :k].mean(1)
            variance[kind].append(float(mean.var()))
            cells += [f"{mean.mean():+.3f}", f"{mean.var():.3f}", f"{np.sqrt(((2 * share - 1) ** 2).mean()):.3f}"]
        table.add_row(str(k), *cells)
    console.print(table)
    console.print(
        "bias: mean lead of the candidate that the item names first. left of order: root mean square of "
        "(votes shown first - votes shown second) / k, in points; balanced leaves exactly none at even k."
    )
    return Panel("VARIANCE OF THE MEAN LEAD", ks, {kind.upper(): variance[kind] for kind in kinds[1:]})


def stopping_table(console: Console, items: int, seeds: int, k: int, delta: float) -> None:
    table = Table(
        title=f"k = {k}, {seeds} seeds x {items:,} items; targets: error <= {delta:g}, on the first votes <= 13"
    )
    for name in (
        "items",
        "rule",
        "agree",
        "error",
        "worst seed",
        "seeds over",
        "votes",
        "begun",
        "ties of all k",
    ):
        table.add_column(name, justify="left" if name in ("items", "rule") else "right")
    for population in POPULATIONS:
        for name, stop in rules(delta):
            if name == "certain" and population is not POPULATIONS[0]:
                continue
            share = items if population.n == 2 else max(items // population.n**2, 200)
            found = simulate(population, stop, k=k, items=share, seeds=range(seeds), checked=100)
            error = found.wrong / found.decided
            cells = (f"{1 - error:.2%}", f"{error:.2%}", f"{found.worst_seed:.2%}", f"{found.over}")
            tied = found.tied / (found.tied + found.decided)
            table.add_row(population.name, name, *cells, f"{found.votes:.2f}", f"{found.begun:.2f}", f"{tied:.1%}")
    console.print(table)
    console.print(
        "seeds over: seeds whose 95 % interval of the error lies above delta. begun: with the votes in flight that are "
        "aborted (4 at a time). The last row breaks an assumption on purpose."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seed-items", type=int, default=1500)
    parser.add_argument("--k", type=int, default=32, help="of the stopping table")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=None, help="a PNG of the curves")
    asked = parser.parse_args()
    console = Console(width=140 if not sys.stdout.isatty() else None)
    start = time.perf_counter()
    panels = voting_curves(console, asked.items)
    majority_table(console, asked.items)
    panels.append(orders_table(console, asked.items))
    stopping_table(console, asked.seed_items, asked.seeds, asked.k, asked.delta)
    if asked.out is not None:
        save_chart(asked.out, panels)
        console.print(f"curves: {asked.out}")
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
