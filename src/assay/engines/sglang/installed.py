"""What SGLang an interpreter holds: asked once, through ``probe``, and kept for as long as this process lives."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from assay.core.errors import StartError

from .config import SGLangConfig

PROBE = Path(__file__).with_name("probe.py")
PROBE_S = 300.0
"""Importing SGLang takes seconds on a warm disk and minutes on a cold network one."""
LOCATE_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of the server: its field's name, its flag, and what follows the flag."""

    name: str
    flag: str
    form: Literal["switch", "value", "list"]
    default_on: bool = False
    off_flag: str | None = None
    """Turns a switch off, where there is such a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A version of SGLang and the arguments that it knows, by every name that they go by."""

    version: str
    arguments: Mapping[str, Argument]


def child_env(config: SGLangConfig) -> dict[str, str]:
    """The environment of everything that runs in SGLang's interpreter."""
    env = dict(os.environ)
    if config.python is not None:
        # They belong to this interpreter; another one would find the wrong packages by them.
        for name in ("PYTHONPATH", "PYTHONHOME"):
            env.pop(name, None)
    return env | config.env


def ask_installed(config: SGLangConfig) -> Installed:
    """The SGLang of ``config.python``. Blocks for seconds the first time. Raises StartError: there is none."""
    return _installed(interpreter(config), tuple(sorted(child_env(config).items())))


def locate_model(config: SGLangConfig) -> dict[str, Any]:
    """``{"path": ...}`` of a hub model, downloaded if need be, or ``{"error": ...}``. Blocks. Raises StartError."""
    return _ask(interpreter(config), child_env(config), LOCATE_S, "locate", config.model)


def read_installed(told: Mapping[str, Any]) -> Installed:
    """The answer of the probe, with every argument under all its names."""
    known: dict[str, Argument] = {}
    for entry in told["arguments"]:
        flags: list[str] = [flag for flag in entry["flags"] if flag.startswith("--")] or list(entry["flags"])
        plain = "--" + entry["name"].replace("_", "-")
        flag = plain if plain in flags else flags[0]
        off = next((other for other in flags if other == flag.replace("--", "--no-", 1)), None)
        argument = Argument(
            name=entry["name"], flag=flag, form=entry["form"], default_on=entry["default"], off_flag=off
        )
        known.setdefault(entry["name"], argument)
        for other in flags:
            known.setdefault(other.lstrip("-").replace("-", "_"), argument)
    return Installed(version=told["version"], arguments=known)


def interpreter(config: SGLangConfig) -> str:
    """The Python that SGLang runs in."""
    return config.python or sys.executable


@cache
def _installed(python: str, env: tuple[tuple[str, str], ...]) -> Installed:
    return read_installed(_ask(python, dict(env), PROBE_S, "arguments"))


def _ask(python: str, env: dict[str, str], timeout_s: float, *question: str) -> dict[str, Any]:
    command = [python, "-c", PROBE.read_text(encoding="utf-8"), *question]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )
    except OSError as error:
        raise StartError(f"{python!r} cannot be run ({error.strerror}): name an interpreter with SGLang") from None
    except subprocess.TimeoutExpired:
        raise StartError(f"{python!r} did not say within {timeout_s:g} s which SGLang it has") from None
    for line in reversed(done.stdout.splitlines()):  # what it imports may print as well
        with contextlib.suppress(ValueError):
            told: Any = json.loads(line)
            if isinstance(told, dict):
                return cast("dict[str, Any]", told)
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    raise StartError(
        f"{python!r} has no usable SGLang ({last}): install it there (pip install sglang), or name the interpreter "
        "that has it as python"
    )
