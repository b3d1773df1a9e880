"""Computes the constants of the stopping rule ``confident`` (``assay.voting.confident_table``) and prints them.

    OMP_NUM_THREADS=1 python benchmarks/confident_calibration.py [--paths 300000] [--values 12000000] [--k 8 32]

For each k and delta: the least constant with which at most a share ``delta`` of paths, all without a lead, stop with
another leader than the one after k votes (ties after k left aside), for the worst of the kinds of votes below. By
simulation with fixed seeds; the product does not run it. ``voting_simulation.py`` tries the result with other seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.voting.confident import EARLY, LATE, LEAST_SHARE
from assay.voting.confident_table import DELTAS

Array = Any
KS = (*range(2, 11), 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 256)
TINY = 1e-4


@dataclass(frozen=True)
class Paths:
    """``lead``: sums of the differences; ``sigmas``: the lead by the boundary's shape and sigma; one row a path."""

    lead: Array
    sigmas: Array


def standard(lead: Array, variance: Array, k: int) -> Paths:
    t = np.arange(1, k + 1, dtype=np.float32) / k
    shape = math.sqrt(k) * (1 - t) ** LATE * t**EARLY
    shape[-1] = 1e-9
    sigmas = np.abs(lead) / (shape * np.sqrt(np.maximum(variance, 1e-12)))
    sigmas[np.abs(lead) < TINY] = 0
    return Paths(lead, sigmas)


def of_scores(ours: Array, theirs: Array) -> Paths:
    """Two candidates' scores ``[path, vote]``."""
    k = ours.shape[1]
    m = np.arange(1, k + 1, dtype=np.float32)
    own = np.zeros_like(ours)
    for scores in (ours, theirs):
        centred = scores - 6
        own += np.maximum(np.cumsum(centred**2, 1) - np.cumsum(centred, 1) ** 2 / m, 0) / np.maximum(m - 1, 1)
    own[:, 0] = 0
    square = np.cumsum((ours - theirs) ** 2, 1) / m
    return standard(np.cumsum(ours - theirs, 1), np.maximum(own, LEAST_SHARE * square), k)


def of_differences(differences: Array) -> Paths:
    """Votes that have no scores."""
    k = differences.shape[1]
    m = np.arange(1, k + 1, dtype=np.float32)
    return standard(np.cumsum(differences, 1), np.cumsum(differences**2, 1) / m, k)


Kind = Callable[[np.random.Generator, int, int], Paths]


def normal(sd: float, *, rounded: bool = True) -> Kind:
    def draw(rng: np.random.Generator, n: int, k: int) -> Paths:
        scores = 6 + sd / math.sqrt(2) * rng.standard_normal((2, n, k), dtype=np.float32)
        return of_scores(*(np.clip(np.round(scores), 1, 10) if rounded else scores))

    return draw


def one_of(*values: float) -> Kind:
    def draw(rng: np.random.Generator, n: int, k: int) -> Paths:
        return of_scores(*np.array(values, dtype=np.float32)[rng.integers(0, len(values), size=(2, n, k))])

    return draw


def signs(large: float, often: float, small: float) -> Kind:
    """Differences of ``large`` with probability ``often``, else ``small``, with a random sign."""

    def draw(rng: np.random.Generator, n: int, k: int) -> Paths:
        size = np.where(rng.random((n, k), dtype=np.float32) < often, large, small).astype(np.float32)
        return of_differences(size * rng.choice(np.array([-1, 1], dtype=np.float32), size=(n, k)))

    return draw


def bare_normal(rng: np.random.Generator, n: int, k: int) -> Paths:
    return of_differences(rng.standard_normal((n, k), dtype=np.float32))


KINDS: dict[str, tuple[Kind, ...]] = {
    "SCORES": (
        normal(1.5, rounded=False),
        normal(0.7),
        normal(1.5),
        normal(3.0),
        one_of(1, 10),
        one_of(7, 7, 7, 8, 8, 8, 8, 2),
    ),
    "BALLOTS": (bare_normal, signs(1, 1.0, 0), signs(1, 0.5, 0), signs(4, 0.15, 1)),
}


class Errors:
    """The share of paths that stop on the wrong side, as a function of the constant."""

    def __init__(self, paths: Paths) -> None:
        final = np.sign(np.where(np.abs(paths.lead[:, -1]) < TINY, 0, paths.lead[:, -1]))
        self._decided = int((final != 0).sum())
        wrong = (np.sign(paths.lead) == -final[:, None]) & (final != 0)[:, None]
        worst = np.where(wrong, paths.sigmas, 0).max(1)
        order = np.argsort(-worst)[: int((worst > 0).sum())]
        # Only a path that is once so far ahead on the wrong side can stop there.
        self._worst, self._sigmas, self._wrong = -worst[order], paths.sigmas[order], wrong[order]

    def at(self, constant: float) -> float:
        some = int(np.searchsorted(self._worst, -constant, side="right"))
        sigmas, wrong = self._sigmas[:some], self._wrong[:some]
        stop = (sigmas >= constant).argmax(1)
        return float(wrong[np.arange(some), stop].sum()) / self._decided


def constants(kinds: Sequence[Kind], k: int, paths: int) -> dict[float, float]:
    rng = np.random.default_rng(k)
    least = dict.fromkeys(DELTAS, 0.0)
    for draw in kinds:
        errors = Errors(draw(rng, paths, k))
        for delta in DELTAS:
            if errors.at(least[delta]) <= delta:
                continue
            low, high = least[delta], 12.0
            while high - low > 0.001:
                middle = (low + high) / 2
                low, high = (middle, high) if errors.at(middle) > delta else (low, middle)
            least[delta] = high
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--paths", type=int, default=300_000)
    parser.add_argument("--values", type=int, default=12_000_000, help="most votes of a kind: for large k fewer paths")
    parser.add_argument("--k", type=int, nargs="+", default=KS)
    asked = parser.parse_args()
    for name, kinds in KINDS.items():
        print(name)
        for k in asked.k:
            found = constants(kinds, k, min(asked.paths, asked.values // k))
            rounded_up = ", ".join(f"{math.ceil(value * 1000 + 1) / 1000:.3f}" for value in found.values())
            print(f"    {k}: ({rounded_up}),", flush=True)


if __name__ == "__main__":
    main()
