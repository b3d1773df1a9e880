"""Assay beside the official ``rewardbench`` package on the same scores: sections, best of four, Ties.

    python benchmarks/rewardbench_official.py [--models 5]

The package (PyPI, 0.1.4) wants an old transformers, so it goes into an environment of its own, beside Assay:

    python -m venv rewardbench-env && . rewardbench-env/bin/activate
    pip install torch --index-url https://download.pytorch.org/whl/cpu
    pip install "transformers==4.51.0" "trl==0.15.2" "peft==0.15.2" "datasets<4" accelerate pandas fschat==0.2.36
    pip install --no-deps rewardbench==0.1.4
    pip install -e .
    python benchmarks/rewardbench_official.py

The scores are made up: reward models of several skills, with ties. The records are not needed for that, so nothing is
downloaded. Ties are told apart: where the answers that are equally right all score the same, the package leaves out a
term of weight 0.01 that the official repository counts.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.bench.aggregate import gather
from assay.bench.benchmark import Benchmark
from assay.bench.benchmarks.rewardbench import COUNTS
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.unit import Answer, Judged
from assay.data.records import Record

PAIRS_OF_PRM = 447
"""What math-prm really holds; it weighs 984."""
EXACT = 1e-9

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure, in percent, as both have it."""

    name: str
    ours: float
    theirs: float

    @property
    def equal(self) -> bool:
        return abs(self.ours - self.theirs) <= EXACT


def sections(skill: float, seed: int) -> list[Compared]:
    """RewardBench v1, as a scalar reward model that gives whole numbers, so that there are ties."""
    import numpy as np
    from rewardbench.constants import EXAMPLE_COUNTS, SUBSET_MAPPING
    from rewardbench.utils import calculate_scores_per_section

    draw = random.Random(seed)
    rows = [
        {"id": f"{subset}{number}", "prompt": "q", "chosen": "a", "rejected": "b", "subset": subset}
        for subset, count in COUNTS.items()
        for number in range(PAIRS_OF_PRM if subset == "math-prm" else count)
    ]
    scores = [(round(draw.gauss(skill, 2)), round(draw.gauss(0, 2))) for _ in rows]
    found = _flat(BENCHMARKS["rewardbench"], rows, scores, Counting(scalar=True))
    # As scripts/run_rm.py of the official repository counts: 1 if the chosen score is larger, else 0.
    results: dict[str, list[int]] = {}
    for row, (chosen, rejected) in zip(rows, scores, strict=True):
        results.setdefault(row["subset"], []).append(1 if chosen > rejected else 0)
    metrics = {subset: sum(own) / len(own) for subset, own in results.items()}
    theirs = calculate_scores_per_section(EXAMPLE_COUNTS, SUBSET_MAPPING, metrics)
    compared = [Compared(name, found[name] or 0.0, 100 * value) for name, value in theirs.items()]
    return [*compared, Compared("RewardBench", found[""] or 0.0, float(100 * np.mean(list(theirs.values()))))]


def best_of_four(skill: float, seed: int) -> Compared:
    """The other five subsets of RewardBench 2, as one."""
    from datasets import Dataset
    from rewardbench.utils import reroll_and_score_dataset

    draw = random.Random(seed)
    rows = [
        {"id": str(number), "prompt": "q", "subset": "Math", "chosen": ["a"], "rejected": ["b", "c", "d"]}
        for number in range(200)
    ]
    scores = [[round(draw.gauss(skill if place == 0 else 0, 2)) for place in range(4)] for _ in rows]
    found = _flat(BENCHMARKS["rewardbench2"], rows, scores, Counting(scalar=True))
    flat = [
        {"id": row["id"], "text": f"t{place}", "scores": value}
        for row, own in zip(rows, scores, strict=True)
        for place, value in enumerate(own)
    ]
    theirs = reroll_and_score_dataset(Dataset.from_list(flat), [4] * len(rows))["results"]
    return Compared("best of four", found["Math"] or 0.0, 100 * sum(theirs) / len(theirs))


def ties(skill: float, seed: int, *, spread: bool) -> Compared:
    """Ties; ``spread``: no two answers of a prompt score the same."""
    from datasets import Dataset
    from rewardbench.utils import process_single_model

    draw = random.Random(seed)
    rows: list[Row] = []
    scores: list[list[float]] = []
    for number in range(51):
        for kind, right in (("ref", 1), ("tied", draw.randint(2, 5))):
            row = {"id": f"{kind}:{number}", "prompt": f"{kind} {number}", "subset": "Ties", "num_correct": right}
            rows.append({**row, "chosen": [f"r{i}" for i in range(right)], "rejected": ["w0", "w1", "w2"]})
            own = [draw.gauss(3 * skill if place < right else 0, 1) for place in range(right + 3)]
            scores.append(own if spread else [float(round(value / 2)) for value in own])
    found = _flat(BENCHMARKS["rewardbench2"], rows, scores, Counting())
    dataset = Dataset.from_list([{**row, "scores": own} for row, own in zip(rows, scores, strict=True)])
    _, theirs = process_single_model(dataset)
    return Compared("Ties" if spread else "Ties, equal scores", found["Ties"] or 0.0, float(100 * theirs))


def _flat(
    benchmark: Benchmark, rows: Sequence[Row], scores: Sequence[Sequence[float]], counting: Counting
) -> Mapping[str, float | None]:
    units = benchmark.units([Record(line=line, row=row) for line, row in enumerate(rows, 1)], "made").units
    judged = [
        Judged(unit=unit, answer=Answer(scores=tuple(map(float, own)))) for unit, own in zip(units, scores, strict=True)
    ]
    return benchmark.combine(gather(benchmark, judged, counting).cases).flat()


def compare(models: int) -> list[tuple[float, list[Compared]]]:
    """Skill, and all figures, of so many made-up reward models."""
    made: list[tuple[float, list[Compared]]] = []
    for number in range(models):
        skill = number / max(1, models - 1) * 4
        found = [*sections(skill, number), best_of_four(skill, number)]
        found += [ties(skill, number, spread=True), ties(skill, number, spread=False)]
        made.append((skill, found))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=5)
    options = parser.parse_args()
    try:
        import rewardbench.utils as _  # noqa: F401
    except ImportError as error:
        sys.exit(f"the official package cannot be imported ({error}); how to install it: --help")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("skill", "figure", "Assay", "rewardbench", "difference"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    unequal = 0
    for skill, figures in compare(options.models):
        for one in figures:
            unequal += not one.equal and one.name != "Ties, equal scores"
            told = "equal" if one.equal else f"{one.ours - one.theirs:+.3g}"
            table.add_row(f"{skill:g}", one.name, f"{one.ours:.4f}", f"{one.theirs:.4f}", told)
    Console(highlight=False).print(table)
    if unequal:
        sys.exit(f"{unequal} figures differ")


if __name__ == "__main__":
    main()
