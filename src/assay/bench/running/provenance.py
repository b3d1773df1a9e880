"""What a run was made of: hashes of its data, and the versions of what computed it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import assay
from assay.core.seeds import digest
from assay.data.archives import SUFFIX
from assay.data.canonical import item_to_row

from ..loading import Loaded
from ..unit import Unit

_PACKAGES = ("numpy", "pyarrow", "datasets", "torch", "transformers")
_CHUNK = 1 << 20


def versions() -> dict[str, str]:
    """Of Assay, Python and the packages that have a part in a score, where they are installed."""
    found = {"assay": assay.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def units_hash(units: Sequence[Unit]) -> str:
    """128-bit hash of all that is asked and gold, wherever it was read from and in whatever order."""
    told = sorted(digest([item_to_row(unit.item), unit.subset, unit.case]) for unit in units)
    return digest(told)


def file_hashes(loaded: Loaded) -> dict[str, str]:
    """SHA-256 of the files that were read, an archive as a whole; empty for hub datasets, which have revisions."""
    source = Path(loaded.source).expanduser()
    if source.is_file():
        return {source.name: sha256(source)}
    if not source.is_dir():
        return {}
    files = [source / name for name in loaded.files if (source / name).is_file()]
    found = files or sorted(path for path in source.iterdir() if path.suffix.lower() == SUFFIX)
    return {str(path.relative_to(source)): sha256(path) for path in found}


def sha256(path: Path) -> str:
    """The hash of a file, read in pieces."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            hashed.update(piece)
    return hashed.hexdigest()
