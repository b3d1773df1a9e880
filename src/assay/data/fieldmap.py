"""``FieldMap``: which field of a row is what. Data only; ``rows`` obeys it, ``shapes`` knows it for well-known rows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from assay.core.config import Config
from assay.core.errors import InputError


class FieldMap(Config):
    """How a row becomes an ``Item``. Every value is a dotted path (``a.b``, ``a.0.b``); a comma separates several."""

    prompt: str | None = None
    """The question: a text, or a chat list of ``{"role", "content"}``. ``messages`` is another name for it."""
    candidates: tuple[str, ...] = ()
    """The answers to judge: one list field, or several fields in order. A chat list counts by its last turn."""
    chosen: tuple[str, ...] = ()
    """Instead of ``candidates`` and ``gold``: the better answer, or a list of them (gold 1)."""
    rejected: tuple[str, ...] = ()
    """The worse answer, or a list of them (gold 0)."""
    reference: str | None = None
    """The standard answer."""
    reference_after: str | None = None
    """Take of the standard answer only what follows the last occurrence of this text (GSM8K: ``####``)."""
    gold: tuple[str, ...] = ()
    """The truth: a list, or a field for each candidate (numbers, booleans, right/wrong words); or one field with the
    index of the best candidate, from 0, or a label such as ``A>B``, ``B``, ``tie``, ``model_a``."""
    id: str | None = None
    """The item's id; without one it is called ``<file>-<line>``."""
    authors: tuple[str, ...] = ()
    """The models that wrote the answers, a field for each answer in order, or one field for all. What an answer says of
    its own author counts before it."""
    metadata: tuple[str, ...] | None = None
    """What to keep beside it; when not said, every other short scalar of the row, and an object named ``metadata``."""

    @classmethod
    def parse(cls, texts: Iterable[str]) -> FieldMap:
        """Read ``name=path[,path...]`` strings, as a command line gives them.

        Raises:
            InputError: an unknown name (the nearest one is named), no ``=``, an empty path, a name said twice.
        """
        values: dict[str, Any] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            name = {"messages": "prompt"}.get(name.strip(), name.strip())
            if name not in cls.model_fields:
                near = difflib.get_close_matches(name, list(cls.model_fields), n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(cls.model_fields)}"
                raise InputError(f"unknown field name {name!r} in {text!r}: {hint}")
            if not equals or not value.strip():
                raise InputError(f"cannot read {text!r}: write {name}=<path>")
            if name in values:
                raise InputError(f"{name!r} is given twice: {text!r}; separate several paths by commas")
            values[name] = _split(text, value) if name in MANY else value.strip()
        given = cls(**values)
        if (given.candidates or given.gold) and (given.chosen or given.rejected):
            raise InputError("give either candidates (and gold) or chosen and rejected, not both")
        return given

    def over(self, base: FieldMap) -> FieldMap:
        """This map, with what it does not say taken from ``base``.

        Candidates that are said anew do not keep the gold of ``base``, which belongs to other candidates.
        """
        kept = {name: value for name, value in base if value not in (None, ())}
        said = {name: value for name, value in self if value is not None and (value != () or name == "metadata")}
        if self.candidates or self.chosen or self.rejected:
            for name in ("candidates", "chosen", "rejected", "gold", "authors"):
                kept.pop(name, None)
        if "reference" in said:
            kept.pop("reference_after", None)
        if self.gold and (base.chosen or base.rejected):
            kept["candidates"] = base.chosen + base.rejected
            kept.pop("chosen", None)
            kept.pop("rejected", None)
        return FieldMap(**{**kept, **said})

    @property
    def used(self) -> tuple[str, ...]:
        """Every path that the map names, once."""
        single = [path for path in (self.prompt, self.reference, self.id) if path]
        every = [
            *single,
            *self.candidates,
            *self.chosen,
            *self.rejected,
            *self.gold,
            *self.authors,
            *(self.metadata or ()),
        ]
        return tuple(dict.fromkeys(every))

    def __str__(self) -> str:
        return " ".join(f"{name}={_shown(name, value)}" for name, value in self if value not in (None, ()))


MANY = ("candidates", "chosen", "rejected", "gold", "authors", "metadata")


def _split(text: str, value: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in value.split(","))
    if not all(found):
        raise InputError(f"cannot read {text!r}: an empty path between its commas")
    return found


def _shown(name: str, value: str | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return repr(value) if name == "reference_after" else value
