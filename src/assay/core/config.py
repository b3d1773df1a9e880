"""The base of every configuration class: pydantic, frozen, unknown keys refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError


class Config(BaseModel):
    """Settings are data: the class is the setting, the docstring under a field is its help."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def explain(error: ValidationError, kind: Any = None) -> str:
    """A pydantic error as one line a person can act on: where, what, and the value that was given.

    Args:
        kind: what was to be made, a class or an annotation; then an unknown option is told with the nearest known one.
    """
    parts = reasons(error, kind)
    return "; ".join(f"{where}: {said}" if (where := ".".join(place)) else said for place, said in parts)


def reasons(error: ValidationError, kind: Any = None) -> list[tuple[tuple[str, ...], str]]:
    """Each thing that is wrong: the names down to its place, none where it is the whole, and what ``explain`` says."""
    parts: list[tuple[tuple[str, ...], str]] = []
    for e in error.errors(include_url=False):
        # A whole object is never shown: it may hold a key that belongs in no message.
        told = "" if e["type"] == "missing" or isinstance(e["input"], dict) else f" (got {e['input']!r:.80})"
        said = (
            e["msg"].removeprefix("Value error, ").replace("Extra inputs are not permitted", "there is no such option")
        )
        if e["type"] == "extra_forbidden" and kind is not None:
            told += _meant(str(e["loc"][-1]), names_at(kind, e["loc"][:-1]))
        parts.append((tuple(str(place) for place in e["loc"]), f"{said}{told}"))
    return parts


def names_at(kind: Any, place: Sequence[int | str]) -> tuple[str, ...]:
    """The options of the object that stands at ``place`` in what ``kind`` describes; nothing where it is none."""
    inner = list(_models(kind, place))
    return tuple(dict.fromkeys(name for model in inner for name in model.model_fields))


def _meant(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.replace("-", "_"), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _models(kind: Any, place: Sequence[int | str]) -> Iterator[type[BaseModel]]:
    """The classes that may describe what stands at ``place``."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _models(inside[0], place)
    elif origin in (Union, UnionType):
        tagged = [one for one in inside if place and place[0] in _tags(one)]
        for one in tagged or inside:
            yield from _models(one, place[1:] if tagged else place)
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        if not place:
            yield kind
        elif place[0] in kind.model_fields:
            yield from _models(kind.model_fields[str(place[0])].annotation, place[1:])
        elif place[0] == kind.__name__:
            # A union names in a place of its own which of its classes was tried.
            yield from _models(kind, place[1:])
    elif isinstance(origin, type) and inside and place:
        of = inside[-1] if issubclass(cast("type[Any]", origin), Mapping) else inside[0]
        yield from _models(of, place[1:])


def _tags(kind: Any) -> tuple[Any, ...]:
    """The values of ``kind`` by which a union of classes tells this one."""
    field = kind.model_fields.get("kind") if isinstance(kind, type) and issubclass(kind, BaseModel) else None
    return () if field is None else get_args(field.annotation)
