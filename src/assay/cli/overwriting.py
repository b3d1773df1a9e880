"""An output that is one of the inputs would destroy it: refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.core.errors import InputError


def refuse_overwriting(inputs: Iterable[str | Path | None], outputs: Iterable[tuple[str, Path | None]]) -> None:
    """Look at what is read and what is written, by whatever names.

    Args:
        inputs: files, ``NAME=FILE``, hub datasets and names of published sets, which no output can be, and what was
            not given.
        outputs: each with the flag that names it.

    Raises:
        InputError: an output is one of the inputs; names the flag.
    """
    there = [path for one in inputs if one is not None for path in _files(str(one))]
    for flag, path in outputs:
        if path is not None and path.exists() and any(path.samefile(one) for one in there):
            raise InputError(f"{flag} {str(path)!r} is the input itself; name another file")


def _files(source: str) -> list[Path]:
    """The file that a source may be."""
    named = [Path(text).expanduser() for text in (source, source.partition("=")[2]) if text]
    return [path for path in named if path.exists()]
