"""Generated items a second on one core, by group and shape, with and without the oracle's text.

    python benchmarks/synthetic_speed.py [--items 3000]

CPU time of this process, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from assay.core.types import Draw
from assay.judges import build_judge
from assay.synthetic.kinds import kinds_named
from assay.synthetic.oracle import completions
from assay.synthetic.record import SHAPES, Generated, Shape
from assay.synthetic.stream import Plan, stream

GROUPS = ("answers", "problems", "instructions", "")
JUDGES = {
    (language, mode): build_judge("pointwise", language=language, mode=mode)
    for language in ("en", "zh")
    for mode in ("0-1", "1-10")
}


def nothing(_: Generated) -> None:
    """The item alone."""


def written(generated: Generated) -> None:
    """The item and its oracle text for the pointwise judge."""
    n = generated.item.n
    judge = JUDGES[(generated.language, "0-1" if n == 1 else "1-10")]
    completions(generated, judge, Draw(vote=0, seed=0, order=tuple(range(n))))


def rate(group: str, shape: Shape, items: int, then: Callable[[Generated], None]) -> float:
    plan = Plan(kinds=kinds_named([group] if group else []), shapes=(shape,))
    begun = time.process_time()
    for generated in stream(plan, 0, items):
        then(generated)
    return items / (time.process_time() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=3000)
    options = parser.parse_args()
    table = Table(title="generated items a second, one core (in brackets with oracle text)")
    for heading in ("kinds", *SHAPES):
        table.add_column(heading, justify="left" if heading == "kinds" else "right")
    for group in GROUPS:
        cells = [
            f"{rate(group, shape, options.items, nothing):,.0f} ({rate(group, shape, options.items, written):,.0f})"
            for shape in SHAPES
        ]
        table.add_row(group or "all", *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
