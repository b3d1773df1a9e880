"""Files that are whole or not there: a kill at any moment leaves the old file or the new one, never a part of one.

Owns: how bytes reach the disk, and what is said where they do not. Does not own: what is in a file, how it is read, or
folders that appear as a whole (checkpoints: ``training.folders``).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from .errors import OutputError

PARTIAL = ".partial"
"""The end of the name under which a file is written; one that is there was left by a kill."""


@contextlib.contextmanager
def whole(path: Path, *, durable: bool = False, what: str = "", fix: str = "") -> Generator[Path]:
    """Where to write what is to be ``path``: it gets that name when the block ends, and goes where the block raises.

    The folder is made. Whatever ``path`` was before stays until then.

    Args:
        durable: once the block has ended, the file survives a loss of power.
        what, fix: of the message: what the file is, and what to do.

    Raises:
        OutputError: for an OSError in the block, or of the file's own.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if durable:
            sync(partial)
        partial.replace(path)
        if durable:
            sync(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot_write(path, error, what=what, fix=fix) from error
        raise


def write_whole(path: Path, data: str | bytes, *, durable: bool = False, what: str = "", fix: str = "") -> None:
    """Write a file at once, as ``whole``. Text is UTF-8; a lone surrogate, which has none, is written as its escape.

    Raises:
        OutputError: it cannot be written.
    """
    encoded = data if isinstance(data, bytes) else data.encode("utf-8", "backslashreplace")
    with whole(path, durable=durable, what=what, fix=fix) as partial:
        partial.write_bytes(encoded)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``: the system may take less of it at once. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(path: Path) -> None:
    """Make a file, or the entries of a folder, survive a loss of power. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError, *, what: str = "", fix: str = "") -> OutputError:
    """The error for a person: the file, the system's reason, and the fix."""
    named = f"{what} {str(path)!r}" if what else repr(str(path))
    return OutputError(f"cannot write {named}: {error.strerror or error}{f'; {fix}' if fix else ''}")
