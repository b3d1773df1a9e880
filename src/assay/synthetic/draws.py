"""The randomness of one generated item: everything follows from (seed, side, kind, shape, index), nothing from order.

Owns: drawing, and the split of numbers and words into a training side and a held-out side. Does not own: the tables
that words are composed from (``vocabulary``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar
from zlib import crc32

from assay.core.seeds import digest
from assay.judges.shield import Language

from . import vocabulary

Side: TypeAlias = Literal["train", "held"]

T = TypeVar("T")

VERSION = 2
"""Goes up when the same draws give other items."""
SMALL = 20
"""Numbers below this are too few to be shared out: both sides use them."""
_ONE_IN_WORDS = 8
_HELD_CLASS = (7, 3)
"""Held-out numbers are those that leave this remainder."""


def held_word(word: str) -> bool:
    """Whether a composed word belongs to the held-out side: by its hash."""
    return crc32(word.encode()) % _ONE_IN_WORDS == 0


def held_number(number: int) -> bool:
    """Whether a number from ``SMALL`` on belongs to the held-out side."""
    return abs(number) % _HELD_CLASS[0] == _HELD_CLASS[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The phrasings of one question or demand in one language, split by side."""

    train: tuple[str, ...]
    held: tuple[str, ...]


class Draws:
    """The draws of one item. Words and numbers come from its side only."""

    __slots__ = ("index", "kind", "language", "random", "seed", "side")

    def __init__(self, *, kind: str, side: Side, language: Language, shape: str, seed: int, index: int) -> None:
        self.random = random.Random(int(digest([VERSION, kind, side, language, shape, seed, index]), 16))
        self.kind = kind
        self.side: Side = side
        self.language: Language = language
        self.seed = seed
        self.index = index

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``, each equally likely."""
        return options[int(self.random.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included, of either side."""
        return low + int(self.random.random() * (high - low + 1))

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """``count`` different places of ``options``, in random order."""
        return self.random.sample(options, count)

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.random.sample(options, len(options))

    def number(self, low: int, high: int) -> int:
        """A whole number of this side, both ends included; see ``SMALL``."""
        while True:
            number = self.between(low, high)
            if abs(number) < SMALL or held_number(number) == (self.side == "held"):
                return number

    def magnitude(self, low: int, high: int) -> int:
        """A whole number of this side, small and large ones alike: the number of digits is drawn first."""
        digits = self.between(len(str(low)), len(str(high)))
        return self.number(max(low, 10 ** (digits - 1)), min(high, 10**digits - 1))

    def word(self, compose: Callable[[Draws], str]) -> str:
        """A composed word of this side."""
        while True:
            word = compose(self)
            if held_word(word) == (self.side == "held"):
                return word

    def text(self, texts: Texts) -> tuple[int, str]:
        """One of the phrasings of this side, and its place."""
        options = texts.train if self.side == "train" else texts.held
        place = int(self.random.random() * len(options))
        return place, options[place]

    def ask(self, texts: Mapping[str, Texts], **values: object) -> tuple[str, str]:
        """A filled phrasing in the item's language, and its template's name. Words that it names are drawn."""
        place, text = self.text(texts[self.language])
        return text.format_map(Slots(self, values)), f"{self.kind}.{self.language}.{self.side}.{place}"


class Slots(dict[str, object]):
    """What stands in a text's braces: the values given, and words drawn when the text first names them."""

    def __init__(self, draws: Draws, values: dict[str, object]) -> None:
        super().__init__(values)
        self._draws = draws

    def __missing__(self, key: str) -> object:
        # `name2` is another word of the same sort as `name`.
        compose = vocabulary.SORTS[self._draws.language][key.rstrip("0123456789")]
        self[key] = word = self._draws.word(compose)
        return word
