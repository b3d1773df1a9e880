"""How long a large recording takes to be added up again: 100,000 answered pairs, 1,000 bootstrap draws.

    python benchmarks/bootstrap_speed.py [--pairs 100000] [--draws 1000]

RewardBench's 23 subsets and four sections (every subset a stratum), answers right or wrong; the same many single
answers with scores that are all different (areas under the ROC curve, which nothing can be grouped in); and RM-Bench,
whose cases are nine answers each.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from assay.bench.aggregate import Aggregate, aggregate, bootstrap, gather
from assay.bench.benchmark import Benchmark
from assay.bench.benchmarks.rewardbench import COUNTS
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.unit import Answer, Judged, Unit
from assay.core.types import Candidate, Item, Message

SUBSETS = tuple(COUNTS)


def item(name: str, gold: tuple[float, ...]) -> Item:
    return Item(
        id=name,
        messages=(Message(role="user", content="Where does the sea end?"),),
        candidates=tuple(Candidate(text=f"answer {place}") for place in range(len(gold))),
        gold=gold,
    )


def pairs(n: int, draw: random.Random) -> list[Judged]:
    def one(number: int) -> Judged:
        unit = Unit(item=item(str(number), (1.0, 0.0)), subset=SUBSETS[number % len(SUBSETS)], case=str(number))
        return Judged(unit=unit, answer=Answer(scores=(float(draw.randint(1, 10)), float(draw.randint(1, 9)))))

    return [one(number) for number in range(n)]


def singles(n: int, draw: random.Random) -> list[Judged]:
    def one(number: int) -> Judged:
        good = draw.random() < 0.4
        unit = Unit(item=item(str(number), (float(good),)), subset="all", case=str(number))
        return Judged(unit=unit, answer=Answer(scores=(draw.gauss(float(good), 1.0),)))

    return [one(number) for number in range(n)]


def styles(n: int, draw: random.Random) -> list[Judged]:
    def nine(row: int) -> list[Judged]:
        levels = ["normal" if i == j else "hard" if j > i else "easy" for i in range(3) for j in range(3)]
        return [
            Judged(
                unit=Unit(
                    item=item(f"{row}/{place}", (1.0, 0.0)), subset=("chat", "math", "code")[row % 3], case=str(row),
                    units_of_case=9, facts={"level": level},
                ),
                answer=Answer(scores=(float(draw.randint(1, 10)), float(draw.randint(1, 9)))),
            )
            for place, level in enumerate(levels)
        ]  # fmt: skip

    return [judged for row in range(n // 9) for judged in nine(row)]


MADE: Sequence[tuple[str, Callable[[int, random.Random], list[Judged]]]] = (
    ("rewardbench", pairs),
    ("single", singles),
    ("rmbench", styles),
)


def timed(benchmark: Benchmark, judged: list[Judged], draws: int) -> tuple[float, float, Aggregate]:
    """Seconds to measure all cases, seconds of the draws, and the result."""
    start = time.perf_counter()
    found = gather(benchmark, judged, Counting())
    measured = time.perf_counter()
    bootstrap(benchmark, found.cases, draws=draws)
    end = time.perf_counter()
    return measured - start, end - measured, aggregate(benchmark, judged, Counting(), draws=50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=1_000)
    options = parser.parse_args()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("benchmark", "answers", "draws", "measured, s", "drawn, s", "together, s", "score"):
        table.add_column(name, justify="left" if name == "benchmark" else "right")
    for name, make in MADE:
        judged = make(options.pairs, random.Random(0))
        measured, drawn, found = timed(BENCHMARKS[name], judged, options.draws)
        value, interval = found.score.value or 0.0, found.intervals[""]
        table.add_row(
            name, f"{len(judged):,}", f"{options.draws:,}", f"{measured:.2f}", f"{drawn:.2f}",
            f"{measured + drawn:.2f}", f"{value:.2f} ({interval.low:.2f} to {interval.high:.2f})",
        )  # fmt: skip
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
