"""What is in a model's folder: its weight files, the shapes of its tensors, and a short name for its weights. No torch.

Does not own: where the folder is (``embedded.weights``), nor whether an engine can serve it (``sglang.model``).
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

MANIFEST = "manifest.json"
"""The file that says what the bundled model was converted from, with the hash of its weights."""
_BLOCK = 1 << 16
_SAMPLED_BLOCKS = 512
_WHOLE_UP_TO = 4 << 30
_MOST_HEADER = 100 << 20

Shapes = dict[str, tuple[int, ...]]
Stamp = tuple[tuple[str, int, int], ...]
"""Name, size and time of change of each weight file: equal stamps, unchanged files."""


def weight_files(path: Path) -> list[Path]:
    """The safetensors files of a model folder, in order of name."""
    return sorted(path.glob("*.safetensors"))


def stamp(path: Path) -> Stamp:
    """See ``Stamp``."""
    return tuple((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in weight_files(path))


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
    shapes: Shapes = {}
    for file in weight_files(path):
        try:
            with file.open("rb") as stream:
                (size,) = struct.unpack("<Q", stream.read(8))
                if size > _MOST_HEADER:
                    raise ValueError(f"a header of {size} bytes")
                header: dict[str, Any] = json.loads(stream.read(size))
            shapes |= {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
        except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
            raise InputError(f"{str(file)!r} is no safetensors file ({error}); copy it again") from error
    return shapes


def _blocks(file: Path, whole: bool) -> Iterator[bytes]:
    size = file.stat().st_size
    step = _BLOCK if whole else max(_BLOCK, size // _SAMPLED_BLOCKS)
    with file.open("rb") as stream:
        for at in range(0, size, step):
            stream.seek(at)
            yield stream.read(_BLOCK)
