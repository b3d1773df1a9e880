"""A verb of the command line out of its configuration class: fields are flags, docstrings under them are their help.

So a flag is written down once, and a wrong value is refused by the same checks wherever the class is used.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo
from typer.models import ArgumentInfo, OptionInfo

from assay.core.config import explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_empty_paths, refuse_mixed

from .recipe import over_recipe, read_recipe

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


def checked(kind: type[T], /, **values: Any) -> T:
    """A configuration object; a wrong value is one clear line.

    Raises:
        InputError: names the flag, what is wrong, and the value that was given.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        raise InputError(explain(error, kind)) from error


def verb(
    kind: type[BaseModel],
    run: str,
    panels: Mapping[type[BaseModel], str] | None = None,
    *,
    recipe: str | None = None,
) -> Callable[..., None]:
    """A function for ``typer`` with a parameter for each field of ``kind``, which it checks and hands to ``run``.

    ``run`` is named as ``module:function`` of this package and imported when the verb runs, so that help stays fast.
    ``panels``: the headings of the help, in their order: a flag stands under that of the class which declares its
    field (the most basic one, where several say it anew). ``recipe``: the field with the file whose flags stand under
    those of the command line; the whole is checked, not what was typed alone.

    A field's ``Annotated[..., typer.Argument()]`` or ``typer.Option("--out", "-o")`` says more about its flag.
    """

    objects = [name for name, field in kind.model_fields.items() if _is_object(field.annotation)]

    def command(context: typer.Context, **values: Any) -> None:
        module, _, function = run.partition(":")
        values = _given(context, values)
        values |= {name: _object(name, values[name]) for name in objects if isinstance(values.get(name), str)}
        values = {name: value for name, value in values.items() if name not in objects or value is not None}
        _refuse(kind, values, objects)
        file = None if recipe is None else values.get(recipe)
        made = (
            checked(kind, **values) if file is None else over_recipe(kind, Path(file), read_recipe(Path(file)), values)
        )
        vars(import_module(f".{module}", __package__))[function](made)

    known = headings(kind, panels or {})
    order = {heading: place for place, heading in enumerate(dict.fromkeys((panels or {}).values()), 1)}
    parameters = [
        _parameter(name, kind.model_fields[name], known.get(name), elsewhere=recipe is not None)
        for name in sorted(kind.model_fields, key=lambda name: order.get(known.get(name, ""), 0))
    ]
    parameters.insert(0, inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = kind.__doc__
    return command


def headings(kind: type[BaseModel], panels: Mapping[type[BaseModel], str]) -> dict[str, str]:
    """The heading of each field that has one: that of the class which declares it, among those of ``panels``.

    Where several do, it is the most basic one of a line, and the first of several lines.
    """
    owners: dict[str, type[BaseModel]] = {}
    for base in kind.__mro__:
        if issubclass(base, BaseModel) and base in panels:
            for name in inspect.get_annotations(base).keys() & kind.model_fields.keys():
                if name not in owners or issubclass(owners[name], base):
                    owners[name] = base
    return {name: panels[owner] for name, owner in owners.items()}


def _refuse(kind: type[BaseModel], values: Mapping[str, Any], objects: Sequence[str]) -> None:
    """What the making of ``kind`` would let pass."""
    try:
        refuse_empty_paths(kind, values)
        refuse_mixed(kind, {name: values[name] for name in objects if name in values})
    except ValidationError as error:
        raise InputError(explain(error)) from error


def _given(context: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
    """What the user said; the rest are defaults, which the configuration knows, and a recipe may say something else."""
    return {name: value for name, value in values.items() if not _is_default(context, name)}


def _is_default(context: typer.Context, name: str) -> bool:
    # By its name: typer brings a click of its own, or uses the one that is installed, and their enumerations differ.
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def _parameter(name: str, field: FieldInfo, heading: str | None, *, elsewhere: bool) -> inspect.Parameter:
    """``elsewhere``: a flag that must be said may be said in a file instead, so that the command line can lack it."""
    said = next((m for m in field.metadata if isinstance(m, OptionInfo | ArgumentInfo)), None)
    flag = name.replace("_", "-")
    # One that is on by itself can be turned off.
    decls = (f"--{flag}/--no-{flag}" if field.default is True else f"--{flag}",) if field.annotation is bool else ()
    info = copy(said) if said is not None else typer.Option(*decls)
    info.help = " ".join((field.description or "").replace("``", "").split())
    info.rich_help_panel = heading
    annotation: Any = _plain(field.annotation)
    default: Any = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    if field.is_required() and elsewhere:
        annotation, default = annotation | None, None
        info.help = f"{info.help} Must be said, here or in the file."
    if _is_object(field.annotation):
        annotation = str | None
        default = "{}" if default == {} else None
    elif _plain(annotation) in (Path, Path | None):
        # As a text: of an empty one a Path would make the current folder.
        info.path_type = str
    elif get_origin(annotation) is tuple:
        annotation, default = list[str], default if field.is_required() else list(default)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[annotation, info], default=default
    )


def _is_object(annotation: Any) -> bool:
    """Whether a value is a JSON object: a dict or a configuration, which a flag takes as text."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(kind) in (Union, UnionType):
        return any(_is_object(one) for one in get_args(kind))
    return get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, BaseModel))


def _object(name: str, text: str) -> object:
    try:
        return _from_json(text)
    except ValueError as error:
        raise InputError(f"{name}: {error} (got {text!r:.80})") from error


def _plain(annotation: Any) -> Any:
    """The type without what is checked about it, which typer cannot read within a union."""
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(_plain(one) for one in get_args(annotation))]  # noqa: UP007
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
