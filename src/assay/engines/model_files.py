"""What is in a model's folder: its weight files, the shapes of its tensors, and a short name for its weights. No torch.

Does not own: where the folder is (``embedded.finding``), nor whether an engine can serve it (``sglang.model``).
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

MANIFEST = "manifest.json"
"""The file that says what the bundled model was converted from, with the hash of its weights."""
_BLOCK = 1 << 16
_SAMPLED_BLOCKS = 512
_WHOLE_UP_TO = 4 << 30
_MOST_HEADER = 100 << 20
_READ = 1 << 22
_ENTRY = frozenset({"dtype", "shape", "data_offsets"})

Shapes = dict[str, tuple[int, ...]]
Stamp = tuple[tuple[str, int, int], ...]
"""Name, size and time of change of each weight file: equal stamps, unchanged files."""


def weight_files(path: Path) -> list[Path]:
    """The safetensors files of a model folder, in order of name."""
    return sorted(path.glob("*.safetensors"))


def stamp(path: Path) -> Stamp:
    """See ``Stamp``."""
    return tuple((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in weight_files(path))


def base_sha256(path: Path) -> str:
    """``state_sha256`` of a model's folder; the bundled model's is known since it was converted."""
    manifest = path / MANIFEST
    if manifest.is_file() and (known := json.loads(manifest.read_text()).get("state_sha256")):
        return str(known)
    return state_sha256(weight_files(path))


def source_of(path: Path) -> str:
    """What the bundled model was converted from; empty for any other folder."""
    manifest = path / MANIFEST
    return str(json.loads(manifest.read_text()).get("source", "")) if manifest.is_file() else ""


def weight_version(path: Path) -> str:
    """A short hash of the configuration and of the weights themselves.

    Up to 4 GiB every byte counts; of larger models, the sizes and evenly spread blocks of each file.
    """
    manifest = path / MANIFEST
    if manifest.is_file() and (known := json.loads(manifest.read_text()).get("weights_sha256")):
        return str(known)[:12]
    files = weight_files(path)
    whole = sum(f.stat().st_size for f in files) <= _WHOLE_UP_TO
    state = hashlib.sha256((path / "config.json").read_bytes())
    for file in files:
        state.update(f"{file.name} {file.stat().st_size}".encode())
        for block in _blocks(file, whole):
            state.update(block)
    return state.hexdigest()[:12]


def tensor_shapes(path: Path) -> Shapes:
    """Name and shape of every tensor in a folder's safetensors files, from their headers. Raises InputError."""
    files = weight_files(path)
    return {name: tuple(entry["shape"]) for file in files for name, entry in _header(file)[0].items()}


def state_sha256(files: Iterable[Path]) -> str:
    """A hash of the tensors in safetensors files, however they are cut into files and in whatever order they lie there.

    SHA-256 over the tensors in order of name: for each a line of JSON ``[name, type, shape]``, then its bytes as
    safetensors stores them (little-endian, row by row). Takes about a second for half a gigabyte.

    Raises:
        InputError: a file is no safetensors file.
    """
    places: list[tuple[str, dict[str, Any], Path, int]] = []
    for file in files:
        header, begin = _header(file)
        places += [(name, entry, file, begin) for name, entry in header.items()]
    state = hashlib.sha256()
    for name, entry, file, begin in sorted(places, key=lambda place: place[0]):
        state.update(json.dumps([name, entry["dtype"], entry["shape"]]).encode() + b"\n")
        first, last = entry["data_offsets"]
        with file.open("rb") as stream:
            stream.seek(begin + first)
            for at in range(first, last, _READ):
                state.update(stream.read(min(_READ, last - at)))
    return state.hexdigest()


def _header(file: Path) -> tuple[dict[str, Any], int]:
    """What a safetensors file says of each tensor (``dtype``, ``shape``, ``data_offsets``), and where its data begin.

    Raises:
        InputError: it is no safetensors file.
    """
    try:
        with file.open("rb") as stream:
            (size,) = struct.unpack("<Q", stream.read(8))
            if size > _MOST_HEADER:
                raise ValueError(f"a header of {size} bytes")
            header: dict[str, Any] = json.loads(stream.read(size))
        header.pop("__metadata__", None)
        lacking = [name for name, entry in header.items() if not set(entry) >= _ENTRY]
        if lacking:
            raise ValueError(f"{lacking[0]!r} has no {' and no '.join(sorted(_ENTRY - set(header[lacking[0]])))}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise InputError(f"{str(file)!r} is no safetensors file ({error}); copy it again") from error
    return header, 8 + size


def _blocks(file: Path, whole: bool) -> Iterator[bytes]:
    size = file.stat().st_size
    step = _BLOCK if whole else max(_BLOCK, size // _SAMPLED_BLOCKS)
    with file.open("rb") as stream:
        for at in range(0, size, step):
            stream.seek(at)
            yield stream.read(_BLOCK)
