"""A run's folder: one process writes it at a time; the same command goes on with it, another one is refused by the name
of the setting.

Owns: the file of the settings, and the lock. Does not own: which settings may change (each kind of run), checkpoints
(``folders``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.core.lock import Lock

CONFIG, LOCK = "config.json", ".lock"


def one_writer(run_dir: Path, checkpoints: Path, stack: ExitStack) -> None:
    """Hold the folder of a run and that of its checkpoints until ``stack`` is left.

    Both, also where the one is in the other: a second run may name the first one's checkpoints with ``--save``.

    Raises:
        InputError: another run writes one of them. OutputError: it cannot be written.
    """
    folders = [(run_dir, "--run-dir")]
    if run_dir.resolve() != checkpoints.resolve():
        folders.append((checkpoints, "--save"))
    for folder, flag in folders:
        stack.enter_context(Lock(folder / LOCK, f"the folder {str(folder)!r}", f"name another {flag}"))


def begin_folder(path: Path, told: Mapping[str, Any], *, may_change: Collection[str], begun: bool) -> Mapping[str, Any]:
    """Write the settings to ``path``; returns those that the run had before, which are ``told`` for a new one.

    Args:
        begun: whether the run has left anything yet; if not, it may be begun with other settings.
        may_change: names of settings under which the steps that were made are the same steps.

    Raises:
        InputError: the folder holds another run, or steps without settings, or a file of this name that no run
            wrote. OutputError: it cannot be written.
    """
    before = _read(path) if path.exists() else told
    if begun:
        _refuse_unknown(path)
        _refuse_another(path, before, told, may_change)
    write_whole(path, json.dumps(told, indent=1, sort_keys=True))
    return before if begun else told


def _read(path: Path) -> Mapping[str, Any]:
    """Also before a first step: a model's folder has a ``config.json`` of its own, which must not be written over."""
    try:
        before = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not the settings of a run: {error}; name another --run-dir") from error
    if not isinstance(before, dict) or "run_dir" not in before:
        raise InputError(
            f"{str(path)!r} is not the settings of a run, it names no 'run_dir', and would be written over: "
            "name another --run-dir"
        )
    return cast("Mapping[str, Any]", before)


def _refuse_unknown(path: Path) -> None:
    """Steps whose settings nobody can say are another run's: this one would go on from them, and delete them."""
    if not path.exists():
        raise InputError(
            f"there are checkpoints or metrics of a run already, and no {str(path)!r} with its settings: name another "
            "--run-dir, and where --save is said another --save; --load CHECKPOINT begins with the weights of that run"
        )


def _refuse_another(
    path: Path, before: Mapping[str, Any], told: Mapping[str, Any], may_change: Collection[str]
) -> None:
    changed = [name for name in told if name not in may_change and before.get(name) != told[name]]
    if changed:
        name = changed[0]
        raise InputError(
            f"{str(path.parent)!r} holds a run with {name}={before.get(name)!r} instead of {told[name]!r}"
            + (f" (and {len(changed) - 1} more differences)" if len(changed) > 1 else "")
            + ": give the same settings to go on with it, or name another --run-dir"
        )
