"""What the cards did while a layout ran, as ``nvidia-smi`` says it twice a second."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

QUERY = "--query-gpu=timestamp,index,utilization.gpu,memory.used"
BUSY_FROM = 5
"""Percent of utilization from which a card counts as busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One card: the share of the time that it did nothing, and the most and the least memory it held (MiB)."""

    idle: float
    most: int
    least: int


@contextmanager
def watched(out: Path) -> Generator[None]:
    """Inside, readings go to ``out``; without nvidia-smi nothing does."""
    try:
        with out.open("w") as file:
            process = subprocess.Popen(
                ["nvidia-smi", QUERY, "--format=csv,noheader,nounits", "-lms", "500"], stdout=file
            )
    except FileNotFoundError:
        out.unlink()
        yield
        return
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def read(text: str, *, share: float = 1.0) -> dict[int, Seen]:
    """Readings by card, of the last ``share`` of them: the start of the engines comes before."""
    found: dict[int, list[tuple[int, int]]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 4 and all(cell.isdecimal() for cell in cells[1:]):
            index, busy, used = map(int, cells[1:])
            found.setdefault(index, []).append((busy, used))
    cards: dict[int, Seen] = {}
    for index, readings in sorted(found.items()):
        late = readings[len(readings) - max(1, round(share * len(readings))) :]
        used = [memory for _, memory in late]
        idle = statistics.fmean(busy < BUSY_FROM for busy, _ in late)
        cards[index] = Seen(idle=idle, most=max(used), least=min(used))
    return cards
