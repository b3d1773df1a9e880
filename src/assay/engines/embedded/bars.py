"""transformers' progress bars, off for a while: reading and writing a model shows none on a terminal that is ours."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_bars() -> Generator[None]:
    """No bars within the block; afterwards as before."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
