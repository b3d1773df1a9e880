"""Generated items by number: any slice of an endless sequence, each item from its own draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from zlib import crc32

from assay.core.errors import InputError
from assay.judges.shield import Language

from .draws import Draws, Side
from .kinds import KINDS
from .record import SHAPES, Generated, Kind, Shape

_ZH_IN_TEN = 3
"""Of ten items of a kind that has both languages, so many are Chinese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sequence is made of: kinds and shapes in turn, so that any slice holds equal shares of each.

    A kind that is named twice has two shares.

    ``languages``: those that are drawn from; a kind without any of them is left out.
    """

    kinds: tuple[Kind, ...] = tuple(KINDS.values())
    shapes: tuple[Shape, ...] = SHAPES
    languages: tuple[Language, ...] = ("en", "zh")
    side: Side = "train"
    seed: int = 0

    def __post_init__(self) -> None:
        kept = tuple(kind for kind in self.kinds if set(kind.languages) & set(self.languages))
        if not kept or not self.shapes:
            raise InputError(
                f"nothing to generate: kinds {[kind.name for kind in self.kinds]!r}, shapes {list(self.shapes)!r}, "
                f"languages {list(self.languages)!r}"
            )
        object.__setattr__(self, "kinds", kept)

    def item(self, number: int) -> Generated:
        """The item at this place of the sequence."""
        place = number % len(self.kinds)
        kind = self.kinds[place]
        # A kind that is named several times goes on in its own sequence.
        turn = number // len(self.kinds) * self.kinds.count(kind) + self.kinds[:place].count(kind)
        return generate(
            kind,
            shape=self.shapes[turn % len(self.shapes)],
            language=_language(kind, self.languages, self.seed, turn),
            side=self.side,
            seed=self.seed,
            index=turn,
        )


def stream(plan: Plan, start: int = 0, stop: int | None = None) -> Iterator[Generated]:
    """Items ``start`` to ``stop`` of the sequence, endlessly without ``stop``. Slices join up to the whole."""
    numbers = count(start) if stop is None else iter(range(start, stop))
    return map(plan.item, numbers)


def generate(
    kind: Kind,
    *,
    shape: Shape = "single",
    language: Language = "en",
    side: Side = "train",
    seed: int = 0,
    index: int = 0,
) -> Generated:
    """One item of one kind.

    Raises:
        InputError: the kind has no items in this language.
    """
    if language not in kind.languages:
        raise InputError(f"kind {kind.name!r} has no items in {language!r}; it has {', '.join(kind.languages)}")
    draws = Draws(kind=kind.name, side=side, language=language, shape=shape, seed=seed, index=index)
    return kind.make(draws, shape)


def _language(kind: Kind, wanted: Sequence[Language], seed: int, turn: int) -> Language:
    own: list[Language] = [language for language in kind.languages if language in wanted]
    if len(own) == 1:
        return own[0]
    return "zh" if crc32(f"{kind.name} {seed} {turn}".encode()) % 10 < _ZH_IN_TEN else "en"
