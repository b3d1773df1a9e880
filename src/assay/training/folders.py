"""Folders that appear whole or not at all: written beside, synced, renamed. No torch here.

Owns: names and order of checkpoints, which of them stay, and the errors of a full disk. Does not own what is in them.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

from assay.core.errors import InputError, OutputError
from assay.core.files import sync

STATE = "state.json"
"""The file that every whole checkpoint holds."""

_NAME = re.compile(r"step-(\d{8,})(?:\.(\d+))?")
_UNFINISHED = ".unfinished-"
_LEAVING = ".leaving-"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def checkpoints(root: Path) -> list[Path]:
    """The whole checkpoints under ``root``, oldest first."""
    found = [(match, path) for path in _entries(root) if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(((int(m[1]), int(m[2] or 0)), p) for m, p in found)]


def find(path: Path) -> Path:
    """The checkpoint that ``path`` is, or the last one in it. InputError where there is none."""
    if (path / STATE).is_file():
        return path
    known = checkpoints(path)
    if not known:
        raise InputError(f"there is no checkpoint in {str(path)!r}")
    return known[-1]


def step_of(path: Path) -> int:
    """How many steps a checkpoint of ``checkpoints`` is after."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path.name!r} is no name of a checkpoint")
    return int(match[1])


def unfinished(root: Path, step: int) -> Path:
    """An empty folder to write the checkpoint of ``step`` into; what earlier attempts left is removed."""
    for path in _entries(root):
        if path.name.startswith((_UNFINISHED, _LEAVING)):
            shutil.rmtree(path, ignore_errors=True)
    path = root / f"{_UNFINISHED}{_name(root, step)}"
    path.mkdir(parents=True)
    return path


def finish(path: Path, *, keep: int) -> Path:
    """Give an unfinished folder its name, for good, and remove all but the last ``keep``."""
    for file in path.rglob("*"):
        sync(file)
    sync(path)
    final = path.with_name(path.name.removeprefix(_UNFINISHED))
    path.rename(final)
    sync(final.parent)
    for old in checkpoints(final.parent)[:-keep]:
        _leave(old)
    return final


def go_back(root: Path, to: Path) -> None:
    """Remove the checkpoints under ``root`` that are later than ``to``; nothing where ``to`` is none of them.

    Raises:
        OutputError: one cannot be removed.
    """
    known = checkpoints(root)
    own = [path for path in known if path.resolve() == to.resolve()]
    for later in known[known.index(own[0]) + 1 :] if own else ():
        try:
            _leave(later)
        except OSError as error:
            raise OutputError(f"cannot remove the checkpoint {str(later)!r}: {error.strerror or error}") from error


def replace(path: Path, final: Path) -> None:
    """Put a finished folder in the place of ``final``."""
    for file in path.rglob("*"):
        sync(file)
    old = final.with_name(_LEAVING + final.name)
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        final.rename(old)
    path.rename(final)
    sync(final.parent)
    shutil.rmtree(old, ignore_errors=True)


def beside(final: Path) -> Path:
    """An empty folder to write into what later takes the place of ``final``."""
    path = final.with_name(_UNFINISHED + final.name)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def require_space(root: Path, nbytes: int) -> None:
    """OutputError where the disk under ``root`` has no room for ``nbytes``."""
    root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(root).free
    if free < nbytes:
        raise OutputError(
            f"a checkpoint takes {_amount(nbytes)} and the disk under {str(root)!r} has {_amount(free)} free; "
            "the last checkpoint is untouched. Free some space, or save elsewhere"
        )


def _amount(nbytes: float) -> str:
    """``12.30 GB``; little in MB or kB, for 0.00 GB would say nothing."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes / 1e3:.2f} kB"


def not_written(path: Path, error: BaseException) -> OutputError:
    """What to raise when writing into an unfinished folder failed; the folder is removed, and room is as it was."""
    shutil.rmtree(path, ignore_errors=True)
    first = (str(error).splitlines() or [""])[0]
    what = f"{type(error).__name__}: {first}"
    if isinstance(error, OSError) and error.errno in _FULL:
        what = f"the disk is full ({os.strerror(error.errno or 0)}; {_amount(_free(path.parent))} free without it)"
    return OutputError(
        f"nothing was saved in {str(path.parent)!r}: {what}; what was saved before is untouched. "
        "Free some space, or save elsewhere"
    )


def _leave(path: Path) -> None:
    """Renamed first: a removal that is cut short must not leave half a checkpoint under a whole one's name."""
    gone = path.rename(path.with_name(_LEAVING + path.name))
    shutil.rmtree(gone, ignore_errors=True)


def _free(root: Path) -> int:
    """Bytes; 0 where the folder cannot be asked."""
    try:
        return shutil.disk_usage(root).free
    except OSError:
        return 0


def _name(root: Path, step: int) -> str:
    """A name that no checkpoint has: a step may be saved again after a resume."""
    known = {path.name for path in _entries(root)}
    name, again = f"step-{step:08d}", 0
    while name in known:
        again += 1
        name = f"step-{step:08d}.{again}"
    return name


def _entries(root: Path) -> list[Path]:
    return sorted(root.iterdir()) if root.is_dir() else []
