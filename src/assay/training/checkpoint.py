"""A checkpoint: all that a run needs to go on as if it had not stopped. DCP shards, so any number of ranks can read it.

In the folder: ``shards/`` (trained weights and optimizer state), ``random-<rank>.pt`` (random states), ``state.json``.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict_loader import load as load_shards
from torch.distributed.checkpoint.state_dict_saver import save as save_shards

from assay.core.errors import InputError, OutputError
from assay.core.types import Json

from . import folders
from .ranks import Ranks

_FORMAT = 1
_SHARDS = "shards"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a checkpoint holds besides tensors."""

    step: int
    """Updates applied."""
    run: str
    """The part of the weight version that stays the same over a run."""
    base_version: str
    """Names the weights before training."""
    trained: str
    """Names what is trained: the names and shapes of the weights."""
    extra: Json = None
    """The loop's own."""


def write(root: Path, tensors: Mapping[str, Tensor], state: State, ranks: Ranks, *, keep: int) -> Path:
    """Save under ``root`` and return the checkpoint's folder. Every rank calls it.

    Raises:
        OutputError: the disk is full, or not writable; earlier checkpoints are untouched.
    """
    path = _begun(root, tensors, state.step, ranks)
    failed: Exception | None = None
    try:
        writer = FileSystemWriter(path / _SHARDS, single_file_per_rank=True, sync_files=True)
        with _quiet():
            save_shards(dict(tensors), storage_writer=writer, no_dist=not ranks.together)
        torch.save(_random(), path / f"random-{ranks.rank}.pt")
        if ranks.first:
            text = json.dumps({"format": _FORMAT, **asdict(state)}, indent=1)
            (path / folders.STATE).write_text(text)
    except (OSError, RuntimeError, CheckpointException) as error:
        failed = _cause(error)
    return _ended(path, failed, ranks, keep)


def read(path: Path, tensors: Mapping[str, Tensor], ranks: Ranks, *, trained: str) -> State:
    """Load into ``tensors``, in place, and set the random states. Every rank calls it.

    Args:
        path: a checkpoint, or a folder of them, of which the last is taken.
        tensors: those in use, by the names that they were saved under.
        ranks: who reads; need not be as many as wrote.
        trained: see ``State``; InputError where the checkpoint has other weights.
    """
    folder = folders.find(path)
    state = _state(folder)
    if state.trained != trained:
        raise InputError(
            f"checkpoint {str(folder)!r} is of another model or another lora_rank than this trainer's; "
            "nothing was loaded"
        )
    try:
        with _quiet():
            reader = FileSystemReader(folder / _SHARDS)
            load_shards(dict(tensors), storage_reader=reader, no_dist=not ranks.together)
        own = folder / f"random-{ranks.rank}.pt"
        saved: dict[str, Any] = torch.load(own if own.exists() else folder / "random-0.pt", weights_only=True)
    except (OSError, RuntimeError, CheckpointException) as error:
        raise InputError(f"checkpoint {str(folder)!r} could not be read: {_cause(error)}") from error
    _set_random(saved)
    return state


def _begun(root: Path, tensors: Mapping[str, Tensor], step: int, ranks: Ranks) -> Path:
    """The folder to write into, made by the first rank; its error is everybody's."""
    result: str | OutputError = ""
    if ranks.first:
        try:
            # Global sizes: a spread tensor counts as a whole.
            nbytes = sum(t.numel() * t.element_size() for t in tensors.values())
            folders.require_space(root, nbytes + nbytes // 50 + (1 << 20))
            result = str(folders.unfinished(root, step))
        except OutputError as error:
            result = error
        except OSError as error:
            result = OutputError(f"cannot save under {str(root)!r}: {error}")
    result = ranks.gather(result)[0]
    if isinstance(result, OutputError):
        raise result
    return Path(result)


def _ended(path: Path, failed: Exception | None, ranks: Ranks, keep: int) -> Path:
    errors = [e for e in ranks.gather(failed) if e is not None]
    result: str | OutputError = ""
    if ranks.first:
        try:
            result = str(folders.finish(path, keep=keep)) if not errors else folders.not_written(path, errors[0])
        except OSError as error:
            result = folders.not_written(path, error)
    result = ranks.gather(result)[0]
    if isinstance(result, OutputError):
        raise result from (errors[0] if errors else None)
    return Path(result)


@contextmanager
def _quiet() -> Generator[None]:
    """Alone on purpose: torch warns about it every time."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled, unavailable or uninitialized")
        yield


def _cause(error: BaseException) -> Exception:
    """What is under the layers of torch, in a form that travels between processes."""
    inner = next(iter(error.failures.values()))[0] if isinstance(error, CheckpointException) else error
    while not isinstance(inner, OSError) and (below := inner.__cause__ or inner.__context__) is not None:
        inner = below
    if isinstance(inner, OSError):
        return OSError(inner.errno, inner.strerror)
    return RuntimeError(f"{type(inner).__name__}: {inner}")


def _state(folder: Path) -> State:
    try:
        found: dict[str, Any] = json.loads((folder / folders.STATE).read_text())
        version = found.pop("format")
        if version != _FORMAT:
            raise InputError(f"checkpoint {str(folder)!r} has format {version}, this version reads {_FORMAT}")
        return State(**found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"checkpoint {str(folder)!r}: {folders.STATE} could not be read: {error}") from error


def begin_random(seed: int, ranks: Ranks) -> None:
    """Random states of a run that begins, each rank's own: begun anew after a kill, it is the same run."""
    random.seed(seed + ranks.rank)
    torch.manual_seed(seed + ranks.rank)


def _random() -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    return {"torch": torch.get_rng_state(), "cuda": cuda, "python": random.getstate()}


def _set_random(saved: dict[str, Any]) -> None:
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["cuda"])
    version, internal, gauss = saved["python"]
    random.setstate((version, tuple(internal), gauss))
