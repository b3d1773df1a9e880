"""A file of flags, under those of the command line: TOML, or the JSON that ``--dump-config`` prints."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.core.config import reasons
from assay.core.errors import InputError
from assay.core.kinds import refuse_empty_paths, refuse_mixed

T = TypeVar("T", bound=BaseModel)


def over_recipe(kind: type[T], recipe: Path, told: Mapping[str, Any], flags: Mapping[str, Any]) -> T:
    """The configuration: what ``flags`` say, over ``told``, which the file says, over the defaults.

    Raises:
        InputError: the whole holds something wrong; the message names the flag that says it, else the file.
    """
    try:
        refuse_mixed(kind, told)
        refuse_empty_paths(kind, told)
        return kind(**{**told, **flags})
    except ValidationError as error:
        raise InputError("; ".join(_sourced(error, kind, recipe, flags))) from error


def _sourced(error: ValidationError, kind: type[BaseModel], recipe: Path, flags: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong, each part behind the flag that says it, or the file."""
    of_file: list[str] = []
    for (first, *inner), said in ((place or ("",), said) for place, said in reasons(error, kind)):
        if first in flags:
            yield f"{_flag(first)}: {'.'.join(inner)}{': ' if inner else ''}{said}"
        elif first:
            of_file.append(f"{'.'.join((first, *inner))}: {said}")
        else:
            # What several settings say together: some of them may stand beside the file.
            named = [_flag(name) for name in flags if re.search(rf"\b{name}\b|{_flag(name)}\b", said)]
            yield f"{recipe}{' with ' if named else ''}{', '.join(named)}: {said}"
    if of_file:
        yield f"{recipe}: {'; '.join(of_file)}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def read_recipe(path: Path) -> dict[str, Any]:
    """The keys (flag names, with underscores or dashes) and values of a recipe; read once, so that it may be a pipe.

    Raises:
        InputError: it cannot be read, is neither TOML nor JSON, or says a flag twice.
    """
    try:
        # Editors of some systems begin a file with a byte-order mark.
        text = path.read_text("utf-8-sig")
        # No TOML file begins like this, and a pipe has no name to tell it by.
        told: dict[str, Any] = _json(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"recipe {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"recipe {str(path)!r} is neither valid TOML nor JSON: {error}") from error
    except _Twice as error:
        raise InputError(f"recipe {str(path)!r} says {error.args[0]!r} twice: keep one of them") from error
    found: dict[str, str] = {}
    for name in told:
        first = found.setdefault(name.replace("-", "_"), name)
        if first != name:
            raise InputError(f"recipe {str(path)!r} says {first!r} and {name!r}, which are one flag: keep one of them")
    return {name: told[written] for name, written in found.items()}


class _Twice(Exception):
    """The key that an object of JSON has twice."""


def _json(text: str) -> dict[str, Any]:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found
