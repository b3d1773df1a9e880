"""Where a model's files are, and which weights they hold. No torch here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import InputError

from .config import DEFAULT_MODEL
from .prepare import MANIFEST, Progress, prepare_default_model

_WANTED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
_BLOCK = 1 << 16
_SAMPLED_BLOCKS = 512
_WHOLE_UP_TO = 4 << 30

Stamp = tuple[tuple[str, int, int], ...]
"""Name, size and time of change of each weight file: equal stamps, unchanged files."""


def find_model(name: str, *, with_code: bool = False, progress: Progress | None = None) -> Path:
    """The folder of a model: the default one (converted first), a local folder, or a hub name (downloaded first).

    Raises:
        InputError: there is no such model; the message says what was tried and what to do.
    """
    if name == DEFAULT_MODEL:
        return prepare_default_model(progress)
    path = Path(name).expanduser()
    if path.is_dir():
        return _checked(path, name)
    if path.exists():
        raise InputError(f"model {name!r} is a file; name the folder with its config.json and safetensors")
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise InputError(f"model {name!r}: there is no such folder; it must hold config.json and safetensors")
    return _checked(_download(name, with_code), name)


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


def _blocks(file: Path, whole: bool) -> Iterator[bytes]:
    size = file.stat().st_size
    step = _BLOCK if whole else max(_BLOCK, size // _SAMPLED_BLOCKS)
    with file.open("rb") as stream:
        for at in range(0, size, step):
            stream.seek(at)
            yield stream.read(_BLOCK)


def _checked(path: Path, name: str) -> Path:
    missing = [what for what in ("config.json", "*.safetensors") if not any(path.glob(what))]
    if missing:
        raise InputError(f"model {name!r}: {str(path)!r} holds no {' and no '.join(missing)}")
    return path


def _download(name: str, with_code: bool) -> Path:
    from huggingface_hub import snapshot_download

    wanted = [*_WANTED, "*.py"] if with_code else _WANTED
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"unknown model {name!r}: it is not {DEFAULT_MODEL!r}, there is no folder of this name, and the hub said: "
            f"{first} ({type(error).__name__}). Check the name; without network, name a local folder with config.json "
            "and safetensors; a gated model needs HF_TOKEN"
        ) from error
