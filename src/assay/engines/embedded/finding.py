"""Where a model is: the bundled one, a folder, the hub. No torch here; what is in its folder is ``model_files``'."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import InputError

from .config import DEFAULT_MODEL
from .prepare import Progress, prepare_default_model

_WANTED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]


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
