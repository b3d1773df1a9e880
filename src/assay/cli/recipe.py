"""A TOML file of flags, under those of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.core.config import explain
from assay.core.errors import InputError

T = TypeVar("T", bound=BaseModel)


def under_flags(kind: type[T], recipe: Path | None, flags: Mapping[str, Any]) -> T:
    """The configuration: what ``flags`` say, over what the file says, over the defaults.

    Keys of the file are flag names, with underscores or dashes.

    Raises:
        InputError: the file cannot be read, or it or the whole holds something wrong; the message names it.
    """
    told = {} if recipe is None else read_recipe(recipe)
    try:
        return kind(**{**told, **flags})
    except ValidationError as error:
        where = "" if recipe is None else f"{recipe}: "
        raise InputError(f"{where}{explain(error)}") from error


def read_recipe(path: Path) -> dict[str, Any]:
    """The keys and values of a recipe. Raises InputError."""
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"recipe {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"recipe {str(path)!r} is not valid TOML: {error}") from error
    return {name.replace("-", "_"): value for name, value in told.items()}
