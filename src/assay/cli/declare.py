"""A verb of the command line out of its configuration class: fields are flags, docstrings under them are their help.

So a flag is written down once, and a wrong value is refused by the same checks wherever the class is used.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo
from typer.models import ArgumentInfo, OptionInfo

from assay.core.config import explain
from assay.core.errors import InputError

T = TypeVar("T", bound=BaseModel)


def _from_json(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object such as '{\"temperature\": 0.1}'")
    return value


JsonObject = Annotated[dict[str, Any], BeforeValidator(_from_json)]
"""A flag whose value is a JSON object."""


def checked(kind: type[T], **values: Any) -> T:
    """A configuration object; a wrong value is one clear line.

    Raises:
        InputError: names the flag, what is wrong, and the value that was given.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        raise InputError(explain(error)) from error


def verb(kind: type[BaseModel], run: str) -> Callable[..., None]:
    """A function for ``typer`` with a parameter for each field of ``kind``, which it checks and hands to ``run``.

    ``run`` is named as ``module:function`` of this package and imported when the verb runs, so that help stays fast.

    A field's ``Annotated[..., typer.Argument()]`` or ``typer.Option("--out", "-o")`` says more about its flag.
    """

    def command(**values: Any) -> None:
        module, _, function = run.partition(":")
        vars(import_module(f".{module}", __package__))[function](checked(kind, **values))

    parameters = [_parameter(name, field) for name, field in kind.model_fields.items()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = kind.__doc__
    return command


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    said = next((m for m in field.metadata if isinstance(m, OptionInfo | ArgumentInfo)), None)
    info = copy(said) if said is not None else typer.Option()
    info.help = " ".join((field.description or "").split())
    annotation: Any = field.annotation
    default: Any = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    if get_origin(annotation) is dict:
        annotation = str
        default = json.dumps(default)
    elif _is_optional_object(annotation):
        annotation = str | None
    elif get_origin(annotation) is tuple:
        annotation, default = list[str], list(default)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[annotation, info], default=default
    )


def _is_optional_object(annotation: Any) -> bool:
    """Whether it is ``JsonObject | None``, whose own text no help should show."""
    return any(get_origin(kind) is Annotated and get_origin(get_args(kind)[0]) is dict for kind in get_args(annotation))
