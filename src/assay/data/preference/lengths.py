"""How long prompts and answers are, by source; and what length gives away: how often the longest answer is the best."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay.core.stats import percentile
from assay.core.types import Item

from .contamination import words_of


@dataclass(slots=True)
class SourceLengths:
    """Of one source: items by number of candidates, words of prompts and answers, where the best one stands.

    ``decided``: items of two candidates or more with a unique best. Of those, ``longest``: the best one has the most
    words; ``first``: it stands first. ``right``: single candidates with the highest gold that singles have, 1.
    """

    items: int = 0
    sizes: Counter[int] = field(default_factory=Counter[int])
    prompts: list[int] = field(default_factory=list[int])
    answers: list[int] = field(default_factory=list[int])
    decided: int = 0
    longest: int = 0
    first: int = 0
    single: int = 0
    right: int = 0

    def add(self, item: Item) -> None:
        """Count one item."""
        self.items += 1
        self.sizes[item.n] += 1
        self.prompts.append(sum(len(words_of(message.text)) for message in item.messages))
        answers = [len(words_of(candidate.text)) for candidate in item.candidates]
        self.answers += answers
        if item.gold is None:
            return
        best = [index for index, gold in enumerate(item.gold) if gold == max(item.gold)]
        if item.n == 1:
            self.single += 1
            self.right += item.gold[0] == 1
        elif len(best) == 1:
            self.decided += 1
            self.first += best[0] == 0
            self.longest += answers[best[0]] > max(answers[: best[0]] + answers[best[0] + 1 :])

    def quartiles(self, what: str) -> tuple[float, float, float] | None:
        """Median, 90th percentile and maximum of the words of ``prompts`` or ``answers``; None without any."""
        values = self.prompts if what == "prompts" else self.answers
        middle, most = percentile(values, 50), percentile(values, 90)
        return None if middle is None or most is None else (middle, most, float(max(values)))


@dataclass(slots=True)
class Lengths:
    """Length statistics by source: the ``source`` of an item's metadata, and its ``kind`` where it has one."""

    sources: dict[str, SourceLengths] = field(default_factory=dict[str, SourceLengths])

    def add(self, item: Item, source: str) -> None:
        """Count an item under what its metadata say, or under ``source``."""
        named = [str(item.metadata[key]) for key in ("source", "kind") if item.metadata.get(key)]
        self.sources.setdefault("/".join(named) or source, SourceLengths()).add(item)
