"""A file of flags, under those of the command line: TOML, or the JSON that ``--dump-config`` prints."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.core.config import explain
from assay.core.errors import InputError

T = TypeVar("T", bound=BaseModel)


def over_recipe(kind: type[T], recipe: Path, told: Mapping[str, Any], flags: Mapping[str, Any]) -> T:
    """The configuration: what ``flags`` say, over ``told``, which the file says, over the defaults.

    Raises:
        InputError: the whole holds something wrong; the message names the file.
    """
    try:
        return kind(**{**told, **flags})
    except ValidationError as error:
        raise InputError(f"{recipe}: {explain(error)}") from error


def read_recipe(path: Path) -> dict[str, Any]:
    """The keys (flag names, with underscores or dashes) and values of a recipe; read once, so that it may be a pipe.

    Raises:
        InputError: it cannot be read, or is neither TOML nor JSON.
    """
    try:
        text = path.read_text("utf-8")
        # No TOML file begins like this, and a pipe has no name to tell it by.
        told: dict[str, Any] = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"recipe {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"recipe {str(path)!r} is neither valid TOML nor JSON: {error}") from error
    return {name.replace("-", "_"): value for name, value in told.items()}
