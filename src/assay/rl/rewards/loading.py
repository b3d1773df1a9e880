"""A function of the user's by its path: ``module.fn`` or ``path/to/file.py:fn``. Wrong paths are said at the start."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.core.errors import InputError
from assay.core.seeds import digest

UserCall = Callable[..., Any]


def load_function(path: str, *, flag: str, takes: tuple[str, ...]) -> UserCall:
    """The function.

    Modules are also looked for in the folder that the run was started in, as with ``python -m``.

    Args:
        flag: what the path was given by, for messages.
        takes: the arguments that it will be called with.

    Raises:
        InputError: it cannot be imported, is not there, or cannot be called like this.
    """
    where, name = _split(path, flag)
    module = _module(where, flag)
    function = vars(module).get(name)
    if function is None:
        own = [
            value
            for value in vars(module).values()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        there = [function.__name__ for function in own if not function.__name__.startswith("_")]
        raise InputError(f"{flag} {path!r}: there is no {name!r} in it; there are {', '.join(there) or 'no functions'}")
    if not callable(function):
        raise InputError(f"{flag} {path!r} is no function but {function!r:.80}")
    try:
        inspect.signature(function).bind(*takes)
    except (TypeError, ValueError) as error:
        raise InputError(f"{flag} {path!r} is called as {name}({', '.join(takes)}): {error}") from error
    return function


def _split(path: str, flag: str) -> tuple[str, str]:
    mark = ":" if ":" in path else "."
    where, _, name = path.rpartition(mark)
    if not where or not name.isidentifier():
        raise InputError(f"{flag} {path!r}: write module.fn, or path/to/file.py:fn")
    return where, name


def _module(where: str, flag: str) -> ModuleType:
    file = Path(where) if where.endswith(".py") else None
    if file is not None and not file.is_file():
        raise InputError(f"{flag} {where!r}: there is no such file")
    _look_in(str(file.resolve().parent) if file is not None else os.getcwd())
    try:
        return importlib.import_module(where) if file is None else _run(file.resolve())
    except Exception as error:
        raise InputError(f"{flag}: cannot import {where!r}: {type(error).__name__}: {error}") from error


def _look_in(folder: str) -> None:
    """Last, so that nothing that is installed is hidden."""
    if folder not in sys.path:
        sys.path.append(folder)


def _run(file: Path) -> ModuleType:
    """The module of a file, run once; by a name of its own, so that it takes no other module's place."""
    name = f"{file.stem}_{digest(str(file))[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
