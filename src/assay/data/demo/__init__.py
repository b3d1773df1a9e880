"""The bundled demo: about a hundred questions of our own with labelled answers, English and Chinese.

Arithmetic, units, dates, equations, sets, fractions and short facts; right answers in several surface forms, wrong ones
near misses. It shows that the plumbing works and how a judge is read; it is far too small to rank judges by.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from assay.core.types import Item

from ..items import load_items


def load_demo() -> tuple[Item, ...]:
    """The demo questions, in their order; every item has candidates, a reference and gold 0 or 1 per candidate."""
    with as_file(files(__name__) / "questions.jsonl") as path:
        return load_items(path, need=("candidates", "reference", "gold")).items
