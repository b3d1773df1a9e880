"""Does training data hold prompts of a benchmark? Shared runs of 13 words, as in GPT-3's appendix C (arXiv 2005.14165).

A word is a run of letters and digits, or a single Chinese or Japanese character. A benchmark prompt shorter than a run
is found only whole. Exact sets, no sketches: a benchmark has thousands of prompts, not millions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assay.core.types import Item

RUN = 13
"""Words in a run."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """``benchmark``: whose prompt it is. ``share``: of the item's own runs that are found there, above 0.

    ``words``: one run that is shared, to look at.
    """

    benchmark: str
    share: float
    words: str


@dataclass(slots=True)
class Contamination:
    """The prompts of benchmarks, to find in training data."""

    run: int = RUN
    _runs: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    _whole: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    def learn(self, benchmark: str, items: Iterable[Item]) -> int:
        """Remember the prompts of a benchmark; how many prompts there were."""
        count = 0
        for item in items:
            count += 1
            words = words_of(item.question)
            if len(words) < self.run:
                self._whole.setdefault(words, benchmark)
            for run in _runs(words, self.run):
                self._runs.setdefault(run, benchmark)
        return count

    def find(self, item: Item) -> Overlap | None:
        """What the item's last question shares with a benchmark; None where that is nothing."""
        words = words_of(item.question)
        whole = self._whole.get(words) if words else None
        if whole is not None:
            return Overlap(benchmark=whole, share=1.0, words=" ".join(words))
        runs = list(_runs(words, self.run))
        hits = [run for run in runs if run in self._runs]
        if not hits:
            return None
        return Overlap(benchmark=self._runs[hits[0]], share=len(hits) / len(runs), words=" ".join(hits[0]))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in small letters."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _runs(words: tuple[str, ...], length: int) -> Iterator[tuple[str, ...]]:
    return (words[at : at + length] for at in range(len(words) - length + 1))
