"""The gold set of the monitor: labelled items, read before anything of the run starts."""

from __future__ import annotations

from assay.core.errors import InputError
from assay.core.types import Item
from assay.data import load_items
from assay.data.demo import load_demo

from .config import MonitorConfig


def load_gold(config: MonitorConfig) -> tuple[Item, ...]:
    """The items of the gold set, whole.

    Raises:
        InputError: the file cannot be read, or an item has no candidates or no gold; names flag, file and line.
    """
    if config.monitor_gold is None:
        return load_demo()
    try:
        found = load_items(config.monitor_gold, need=("candidates", "gold"))
    except InputError as error:
        raise InputError(f"--monitor-gold {error}") from error
    if found.bad:
        first, more = found.bad[0], len(found.bad) - 1
        raise InputError(
            f"--monitor-gold {str(config.monitor_gold)!r}, line {first.line}: {first.reason}"
            + (f" (and {more} more rows that are no items)" if more else "")
        )
    return found.items
