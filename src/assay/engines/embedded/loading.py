"""A model, loaded and checked: weights, tokenizer, limits, end-of-text ids. Also taken off its device, and replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.core.errors import InputError, StartError

from ..model_files import Stamp, stamp, tensor_shapes, weight_version
from ..parameters import active_parameters
from .bars import no_bars
from .config import EmbeddedConfig
from .finding import find_model
from .forward import Runner
from .kv import KvShape
from .lora import Lora
from .merging import merge
from .probe import adopt
from .shipped import find_adapter


@dataclass(slots=True, kw_only=True)
class Loaded:
    """A model in use. ``runner`` is None while its weights are given back."""

    name: str
    path: Path
    """Where the weights in use came from."""
    stamp: Stamp
    disk_version: str
    version: str
    """What completions carry: ``disk_version``, or the name that an update gave."""
    device: torch.device
    dtype: torch.dtype
    shape: KvShape
    vocabulary: int
    context_len: int
    end_ids: frozenset[int]
    tokenizer: Any
    runner: Runner | None
    parameters: int | None
    """Active ones."""
    lora: Lora | None = None
    """The adapter that is merged into the weights."""
    parked: Any = None
    """The model in main memory, while its weights are off CUDA."""
    on_disk: bool = True
    """Whether the files in ``path`` hold the weights in use."""


def pick_device(asked: str) -> torch.device:
    """The device to use; StartError where CUDA is asked for and absent."""
    if asked == "cuda" and not torch.cuda.is_available():
        raise StartError("device 'cuda' was asked for and there is no CUDA device; fix: device auto or cpu")
    return torch.device("cuda" if asked != "cpu" and torch.cuda.is_available() else "cpu")


def pick_dtype(asked: str, device: torch.device) -> torch.dtype:
    """float32 on the CPU (bf16 matrix products are far slower there), bfloat16 on CUDA, unless told otherwise."""
    if asked == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return {
        "float32": torch.float32,
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
        "float64": torch.float64,
    }[asked]


def load(config: EmbeddedConfig) -> Loaded:
    """Find, load and check the model that ``config`` names. Raises InputError or StartError."""
    from transformers import AutoTokenizer

    if config.threads is not None:
        torch.set_num_threads(config.threads)
    device = pick_device(config.device)
    dtype = pick_dtype(config.dtype, device)
    path = find_model(config.model, with_code=config.trust_remote_code)
    lora = find_adapter(config.adapter)
    with explained(config.model, path):
        tokenizer = AutoTokenizer.from_pretrained(str(path), trust_remote_code=config.trust_remote_code)
    model = load_model(config, path, device, dtype, lora)
    # Models without a table of positions name no limit.
    own_limit = getattr(model.config.get_text_config(), "max_position_embeddings", None) or config.max_context_len
    disk_version = weight_version(path)
    runner = adopt(model, config.model)
    return Loaded(
        name=config.model if lora is None else f"{config.model}+{lora.identity}",
        path=path,
        stamp=stamp(path),
        disk_version=disk_version,
        version=disk_version if lora is None else merged_version(disk_version, lora),
        device=device,
        dtype=dtype,
        shape=runner.shape,
        vocabulary=model.get_input_embeddings().weight.shape[0],
        context_len=min(config.max_context_len, own_limit),
        end_ids=_end_ids(model, tokenizer),
        tokenizer=tokenizer,
        runner=runner,
        parameters=active_parameters(model.config.to_dict(), tensor_shapes(path)),
        lora=lora,
    )


def merged_version(disk_version: str, lora: Lora) -> str:
    """A name for weights with an adapter in them: it follows from both."""
    return hashlib.sha256(f"{disk_version} {lora.digest}".encode()).hexdigest()[:12]


def load_model(
    config: EmbeddedConfig, path: Path, device: torch.device, dtype: torch.dtype, lora: Lora | None = None
) -> Any:
    """The model in ``path`` with all of its weights, and an adapter in them, in evaluation mode."""
    from transformers import AutoModelForCausalLM

    with explained(config.model, path), no_bars():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(path), dtype=dtype, output_loading_info=True, trust_remote_code=config.trust_remote_code
        )
    model, report = loaded
    missing = sorted(str(key) for key in report["missing_keys"])
    if missing:
        # transformers fills these with random numbers and goes on.
        raise StartError(f"{str(path)!r} lacks {len(missing)} weights of its model, first {missing[0]!r}")
    if lora is not None:
        merge(model, lora, config.model, path)
    return model.to(device).eval()


def nbytes(model: Any) -> int:
    """Bytes of parameters and buffers; tied ones count once."""
    tensors = {t.data_ptr(): t.nbytes for t in (*model.parameters(), *model.buffers())}
    return sum(tensors.values())


def replace_weights(model: Any, fresh: Any, source: str) -> None:
    """Copy the weights of ``fresh`` into the model in use; nothing is changed where they do not fit."""
    own, new = model.state_dict(), fresh.state_dict()
    for name in sorted(own.keys() | new.keys()):
        shapes = [tuple(s[name].shape) if name in s else None for s in (own, new)]
        if shapes[0] != shapes[1]:
            raise InputError(f"{source!r} does not fit: weight {name!r} has shape {shapes[1]}, not {shapes[0]}")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(new[name])


def copy_weights(model: Any, tensors: Iterable[tuple[str, Any]], source: str) -> int:
    """Copy named weights into the model in use, tied ones once; nothing is changed where they do not fit."""
    own = dict(model.named_parameters())
    new = dict(tensors)
    for name in sorted(own.keys() | new.keys()):
        shapes = [tuple(s[name].shape) if name in s else None for s in (own, new)]
        if shapes[0] != shapes[1]:
            raise InputError(f"weights {source!r} do not fit: {name!r} has shape {shapes[1]}, not {shapes[0]}")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(new[name])
    return sum(tensor.nbytes for tensor in own.values())


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every id that ends a reply: the generation config's (one or several) and the tokenizer's."""
    ids: set[int] = set()
    for source in (model.generation_config, model.config.get_text_config(), tokenizer):
        found = source.eos_token_id
        ids.update(found if isinstance(found, list | tuple) else [] if found is None else [found])
    return frozenset(ids)


@contextmanager
def explained(name: str, path: Path) -> Generator[None]:
    """What goes wrong in transformers while it reads a model becomes a StartError that names the model."""
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StartError(f"model {name!r} in {str(path)!r} could not be loaded: {first}") from error
