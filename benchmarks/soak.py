"""Soak: the memory of the service over 200,000 requests, a fifth of the time judgments, all recorded.

    python benchmarks/soak.py [--requests 200000] [--warm-up 20000] [--concurrency 32] [--cache]

The engine answers at once; uvicorn, the flight recorder (into a folder that is removed afterwards) and every counter
are those of ``assay serve``, and no two requests are alike. Exit status 1 when the process holds over 2 % more at the
end than after the warm-up, or a request was not answered.

Measured on 2 cores: 193,411 /generate and 14,870 /score in 89 s, 159.3 MiB after the warm-up, +1.07 % at the end and
+0.18 % in the second half; while a file of 50,000 rows is sealed, some 20 MiB more for a second. With ``--cache`` the
verdict cache keeps every verdict, about 600 bytes each, until its 128 MiB are full: +4.93 % after 13,645 of them. So
much a verdict is taken off before the growth is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from overload import MIB, resident
from service_overhead import GENERATE, SCORE, Measured, Variant, load

GROWTH = 0.02
SETTLED_S = 1.0
"""After a round: the recorder's threads write and seal what is left, and give their memory back."""
ROUND_S = 2.0
CACHED_BYTES = 600
"""What the verdict cache keeps of a verdict without tokens."""
ROUTES = (
    (Variant("/generate", "assay", "/genrm/generate", GENERATE), 0.8),
    (Variant("/score", "assay", "/genrm/score", SCORE), 0.2),
)
"""What is asked, and its share of the time of a round."""


@dataclass
class Soaked:
    """``marks``: requests answered and bytes held after each round; ``answered``: by route."""

    marks: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    answered: dict[str, int] = field(default_factory=dict[str, int])
    warm: int = 0
    verdicts: int = 0
    """Those since the warm-up."""
    seconds: float = 0.0

    @property
    def growth(self) -> float:
        return self.marks[-1][1] / self.warm - 1

    def leaked(self, cached: bool) -> float:
        """The growth without what the cache is there to keep."""
        return self.growth - (self.verdicts * CACHED_BYTES / self.warm if cached else 0.0)

    @property
    def later_growth(self) -> float:
        """From the least of the second half, when the first files have been sealed: what goes on growing is a leak."""
        least = min(memory for count, memory in self.marks if count >= self.marks[-1][0] / 2)
        return self.marks[-1][1] / least - 1


@contextmanager
def service(kind: str) -> Generator[tuple[int, int]]:
    """The service in a process of its own; gives port and process id."""
    script = os.path.join(os.path.dirname(__file__), "service_overhead.py")
    command = [sys.executable, script, "--serve", kind]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.terminate()


async def soak(port: int, pid: int, options: argparse.Namespace) -> Soaked:
    """Rounds of both routes until enough is answered; a request that fails ends it with the service's words."""
    found = Soaked()
    begin = time.perf_counter()
    total = 0
    while total < options.requests:
        for variant, share in ROUTES:
            into = Measured()
            await load(variant, port, options.concurrency, ROUND_S * share, into)
            found.verdicts += len(into.seconds) if found.warm and variant.name == "/score" else 0
            found.answered[variant.name] = found.answered.get(variant.name, 0) + len(into.seconds)
        await asyncio.sleep(SETTLED_S)
        total = sum(found.answered.values())
        found.marks.append((total, resident(pid)))
        if total >= options.warm_up and not found.warm:
            found.warm = found.marks[-1][1]
    found.seconds = time.perf_counter() - begin
    return found


def show(found: Soaked, cached: bool) -> None:
    told = ", ".join(f"{count:,} {route}" for route, count in found.answered.items())
    table = Table(title=f"Soak, no-op engine, recorder on: {told} in {found.seconds:.0f} s", min_width=72)
    for column in ("requests answered", "RSS MiB", "÷ after the warm-up"):
        table.add_column(column, justify="right")
    shown = found.marks[:: max(1, len(found.marks) // 12)]
    for count, memory in [*shown, *([] if shown[-1] is found.marks[-1] else [found.marks[-1]])]:
        table.add_row(f"{count:,}", f"{memory / MIB:.1f}", f"{memory / found.warm:.3f}")
    table.caption = f"growth {found.growth:+.2%} (target < {GROWTH:.0%}); in the second half {found.later_growth:+.2%}"
    if cached:
        table.caption += f"; without the cache's {found.verdicts:,} verdicts {found.leaked(cached):+.2%}"
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--warm-up", type=int, default=20_000, help="requests before memory is first looked at")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--cache", action="store_true", help="with the verdict cache, which grows until it is full")
    options = parser.parse_args()
    with service("cached" if options.cache else "assay") as (port, pid):
        found = asyncio.run(soak(port, pid, options))
    show(found, options.cache)
    sys.exit(1 if found.leaked(options.cache) > GROWTH else 0)


if __name__ == "__main__":
    main()
