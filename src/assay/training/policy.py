"""Models to train on: loaded, checked, with an adapter where one is asked for. Knows one process only.

Owns: which device and types a model has, and the proof that packed passes compute this very model. Does not own: how
its weights are spread over ranks (``ranks``), trained (``trainer``) or written (``export``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from assay.core.errors import InputError, StartError
from assay.core.seeds import digest
from assay.engines.embedded.attention import PACKED, UnsupportedAttentionError, register
from assay.engines.embedded.bars import no_bars
from assay.engines.embedded.finding import find_model
from assay.engines.embedded.loading import pick_device as usable_device
from assay.engines.embedded.loading import pick_dtype
from assay.engines.model_files import weight_version

from .adapter import add_adapter
from .batch import TrainSequence
from .config import TrainerConfig
from .fused import compile_layers, fuse
from .model import MicroBatch, TokenModel
from .packing import micro_batches

_TOLERANCE = {torch.float32: 1e-2, torch.float64: 1e-6}
_HALF_TOLERANCE = 0.5
"""Natural-log units. Half precision rounds differently in every order of summation; a wrong mask is off by more."""


@dataclass(slots=True, kw_only=True)
class Policy:
    """The model that is trained."""

    model: TokenModel
    source: Path | None
    """The folder that it was loaded from; None for a model that was given as an object."""
    base_version: str
    """Names the weights before training."""
    device: torch.device
    compute: torch.dtype
    """What products are computed in; trained weights are float32 where this is bfloat16."""
    tokenizer: Any = None
    """Written beside exported weights; None: the files of ``source`` are."""

    @property
    def lm(self) -> Any:
        """The transformers model itself."""
        return self.model.lm

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The weights that are trained, by name."""
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}


def load_policy(config: TrainerConfig, *, model: Any = None, device: torch.device | None = None) -> Policy:
    """The policy that ``config.hf_checkpoint`` names, or ``model``, a transformers causal language model.

    Raises:
        InputError: there is no such model; StartError: it cannot be loaded, or not be trained packed.
    """
    device = device or pick_device(config)
    compute = pick_dtype(config.dtype, device)
    stored = frozen_dtype(config, device)
    source: Path | None = None
    lm = model
    if model is None:
        source = find_model(config.hf_checkpoint, with_code=config.trust_remote_code)
        lm = read_model(source, config, stored)
    version = _given_version(lm) if source is None else weight_version(source)
    lm = lm.to(device=device, dtype=stored)
    token_model = packed(lm, config, name=config.hf_checkpoint if source is not None else type(lm).__name__)
    if config.lora_rank:
        add_adapter(lm, rank=config.lora_rank, alpha=config.lora_alpha, seed=config.seed, dtype=stored_dtype(compute))
    hasten(lm, config)
    if config.gradient_checkpointing:
        checkpoint_activations(lm)
    return Policy(model=token_model, source=source, base_version=version, device=device, compute=compute)


def load_reference(config: TrainerConfig, *, device: torch.device) -> TokenModel:
    """A frozen copy of ``ref_load`` (else of ``hf_checkpoint``).

    Stored as the policy is, so that both round alike and their KL begins at exactly 0.
    """
    name = config.ref_load or config.hf_checkpoint
    lm = read_model(find_model(name, with_code=config.trust_remote_code), config, frozen_dtype(config, device))
    model = packed(lm.to(device), config, name=name).requires_grad_(False)
    hasten(lm, config)
    return model


def pick_device(config: TrainerConfig, local_rank: int = 0) -> torch.device:
    """The device of this rank; StartError where CUDA is asked for and absent."""
    # Cards are counted as nvidia-smi and the engines count them; by itself CUDA puts the fastest first.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    device = usable_device(config.device)
    return torch.device("cuda", local_rank) if device.type == "cuda" else device


def frozen_dtype(config: TrainerConfig, device: torch.device) -> torch.dtype:
    """How weights outside an adapter are stored: under an adapter in the type of the computation."""
    compute = pick_dtype(config.dtype, device)
    return compute if config.lora_rank else stored_dtype(compute)


def read_model(source: Path, config: TrainerConfig, dtype: torch.dtype) -> Any:
    """The transformers model in a folder, with all of its weights. StartError where it cannot be read."""
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        with no_bars():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(source), dtype=dtype, output_loading_info=True, trust_remote_code=config.trust_remote_code
            )
    except (SafetensorError, OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise StartError(f"the model in {str(source)!r} could not be loaded: {first}") from error
    model, report = loaded
    if missing := sorted(str(key) for key in report["missing_keys"]):
        # transformers fills these with random numbers and goes on.
        raise StartError(f"{str(source)!r} lacks {len(missing)} weights of its model, first {missing[0]!r}")
    return model


def packed(lm: Any, config: TrainerConfig, *, name: str) -> TokenModel:
    """The model, switched to packed attention, and proved to compute the same log-probs with shared prompts.

    Raises:
        StartError: it does not; the message says what stands in the way.
    """
    for module in lm.modules():
        # Log-probs of a pass with dropout are those of another policy than the one that sampled.
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    lm.train()
    model = TokenModel(lm, temperature=config.temperature)
    device, vocabulary = lm.device, lm.get_input_embeddings().weight.shape[0]
    sequences = _probes(vocabulary)
    with torch.no_grad():
        lm.eval()
        expected = torch.cat([_alone(lm, s, config.temperature) for s in sequences])
        lm.train()
        register()
        lm.set_attn_implementation(PACKED)
        [[rows]] = micro_batches(sequences, 1 << 20)
        micro = MicroBatch.of(rows, sequences, device, masked=False)
        try:
            found, _ = model(micro)
        except (UnsupportedAttentionError, RuntimeError, TypeError, KeyError, AttributeError) as error:
            raise StartError(f"the trainer cannot run {name!r} packed: {error}") from error
    off = float((found - expected).abs().max())
    if not off <= _TOLERANCE.get(lm.dtype, _HALF_TOLERANCE):
        raise StartError(
            f"the trainer cannot run {name!r} packed: its log-probs differ by {off:.3g} from the model's own, so its "
            "attention or its output layer does something that packing does not know"
        )
    return model


def hasten(lm: Any, config: TrainerConfig) -> None:
    """Fewer operations for the same values, where the model is of a kind that is known. Its adapter is on already."""
    if not (config.compile and compile_layers(lm)):
        fuse(lm)


def checkpoint_activations(lm: Any) -> None:
    """Have each layer compute its activations again in the backward pass."""
    options = {"use_reentrant": False}
    if hasattr(lm, "activation_checkpointing_enable"):
        lm.activation_checkpointing_enable(activation_checkpointing_kwargs=options)
    else:  # transformers before 5.20 or so knows the older name only
        lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)


def _probes(vocabulary: int) -> list[TrainSequence]:
    """Two samples of one prompt and one of another, of made-up tokens."""
    ids = [(7919 * i + 13) % vocabulary for i in range(40)]
    parts = [(ids[:9], ids[9:17]), (ids[:9], ids[17:22]), (ids[22:27], ids[27:40])]
    return [TrainSequence(prompt_ids=tuple(p), response_ids=tuple(r), loss_mask=(True,) * len(r)) for p, r in parts]


def _alone(lm: Any, sequence: TrainSequence, temperature: float) -> Tensor:
    """The log-probs of a response by the model's own attention, nothing packed."""
    ids = torch.tensor([[*sequence.prompt_ids, *sequence.response_ids]], device=lm.device)
    logits = cast("Tensor", lm(input_ids=ids, use_cache=False).logits)[0]
    logprobs = (logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature).log_softmax(-1)
    start = len(sequence.prompt_ids)
    return logprobs[start - 1 : -1].gather(1, ids[0, start:].unsqueeze(1)).squeeze(1)


def stored_dtype(compute: torch.dtype) -> torch.dtype:
    """Of trained weights: an update of 1e-6 is lost in the eight bits of a bfloat16."""
    return torch.float32 if compute == torch.bfloat16 else compute


def _given_version(lm: Any) -> str:
    """A short hash of the weights of a model given as an object."""
    if not hasattr(lm, "get_output_embeddings"):
        raise InputError(f"the policy must be a transformers causal language model, got {type(lm).__name__}")
    sums = {name: float(p.detach().double().abs().sum()) for name, p in lm.named_parameters()}
    return digest([type(lm).__name__, sums])[:12]
