"""Whether there is room: in main memory for the backups of weights, on the cards for a share of them.

Owns the arithmetic. Does not own reading the cards (``gpu``).
"""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import StartError

from .config import SGLangConfig
from .gpu import Card

GIB = 1 << 30
MOST_OF_FREE = 0.98
"""Share of the free memory that SGLang can be given; some of it goes to CUDA itself."""

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def available_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """Main memory that this process may still take: of the machine, or of its control group if that has less."""
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        most, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no control group, or "max": no limit
        return free
    return min(free, max(0, most - used))


def check_host_memory(config: SGLangConfig, weight_bytes: int, free: int | None) -> None:
    """Check that main memory can hold the backups of all engines on this machine.

    Raises:
        StartError: it cannot; an engine that runs out of it while falling asleep is killed by the kernel.
    """
    if not config.backed_up or not config.check_host_memory or free is None:
        return
    # With DP attention the ranks share one copy of most weights; counting a copy a rank errs on the safe side.
    each = weight_bytes * config.dp_size // config.nnodes
    need = each * config.backups_on_host
    if need > free:
        copies = f"{config.backups_on_host} x {each / GIB:.1f} GiB" if config.backups_on_host > 1 else "the weights"
        raise StartError(
            f"not enough main memory for the backup of {config.model!r}: {copies} take {need / GIB:.1f} GiB, "
            f"{free / GIB:.1f} GiB are available. Give weights_cpu_backup=false (weights are then read from disk on "
            "waking), or check_host_memory=false if the figure is wrong"
        )


def free_fraction(share: float, cards: tuple[Card, ...]) -> float:
    """``share`` of a card as a share of what is free on it now: what SGLang means by ``mem_fraction_static``.

    Raises:
        StartError: so much is not free.
    """
    tightest = min(cards, key=lambda card: card.free / card.total)
    fraction = share * tightest.total / tightest.free if tightest.free else float("inf")
    if fraction > MOST_OF_FREE:
        raise StartError(
            f"mem_fraction_static={share:g} of GPU {tightest.name} is {share * tightest.total / GIB:.1f} GiB, and "
            f"{tightest.free / GIB:.1f} of its {tightest.total / GIB:.1f} GiB are free; lower it, or free the card"
        )
    return fraction
