"""Values that a person wrote in TOML or JSON: there a boolean is no number, and a number is no boolean.

pydantic takes ``true`` for 1 and ``2.0`` for 2, which in a file is a slip that would pass in silence. Texts are left to
it: ``"1e-6"`` can only mean a number. And an empty text is no path: pydantic takes it for the current folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

WHOLE = PydanticCustomError("whole_number", "must be a whole number, written as one")
NEEDED: Mapping[str, PydanticCustomError] = {
    "int_type": WHOLE,
    "int_from_float": WHOLE,
    "float_type": PydanticCustomError("number", "must be a number, not true or false"),
    "bool_type": PydanticCustomError("boolean", "must be true or false, not a number"),
}
NOWHERE = PydanticCustomError("empty_path", "names no file and no folder; '.' is the current folder")


def refuse_mixed(kind: Any, told: Any) -> None:
    """Look at the numbers and booleans in ``told``, at any depth; everything else is checked where ``kind`` is made.

    Args:
        kind: what is to be made of it: a class of pydantic's, or an annotation.

    Raises:
        ValidationError: one of them stands where the other kind belongs; names each place.
    """
    try:
        text = json.dumps(told, default=str)
    except (TypeError, ValueError):
        # Nobody wrote this in a file.
        return
    try:
        TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        wrong = [
            InitErrorDetails(type=NEEDED[one["type"]], loc=one["loc"], input=one["input"])
            for one in error.errors(include_url=False)
            if one["type"] in NEEDED and isinstance(one["input"], bool | int | float)
        ]
        if wrong:
            raise ValidationError.from_exception_data(error.title, wrong) from None


def refuse_empty_paths(kind: type[BaseModel], told: Mapping[str, Any]) -> None:
    """Look at the fields of ``kind`` that are paths, or several of them.

    Raises:
        ValidationError: one of them is an empty text; names each.
    """
    wrong = [
        InitErrorDetails(type=NOWHERE, loc=(name,), input="")
        for name, value in told.items()
        if name in kind.model_fields
        and _holds_path(kind.model_fields[name].annotation)
        and (value == "" or (isinstance(value, list | tuple) and "" in value))
    ]
    if wrong:
        raise ValidationError.from_exception_data(kind.__name__, wrong)


def _holds_path(annotation: Any) -> bool:
    return annotation is Path or any(_holds_path(one) for one in get_args(annotation))
