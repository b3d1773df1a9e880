"""Values that a person wrote in TOML or JSON: there a boolean is no number, and a number is no boolean.

pydantic takes ``true`` for 1 and ``2.0`` for 2, which in a file is a slip that would pass in silence. Texts are left to
it: ``"1e-6"`` can only mean a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

WHOLE = PydanticCustomError("whole_number", "must be a whole number, written as one")
NEEDED: Mapping[str, PydanticCustomError] = {
    "int_type": WHOLE,
    "int_from_float": WHOLE,
    "float_type": PydanticCustomError("number", "must be a number, not true or false"),
    "bool_type": PydanticCustomError("boolean", "must be true or false, not a number"),
}


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
