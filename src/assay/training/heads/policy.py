"""A language model with a score head, for the trainer: loaded, checked, with an adapter where one is asked for.

The head has a weight and no bias, and is read at the last token of a text, as transformers, SGLang and vLLM do. It
begins at zero, so that training begins with no opinion (a loss of ln 2 for every pair).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from assay.core.errors import StartError
from assay.engines.embedded.attention import PACKED, PLAN, UnsupportedAttentionError, register
from assay.engines.embedded.bars import no_bars
from assay.engines.embedded.loading import pick_dtype
from assay.engines.head_kind import ENTRY, Head
from assay.engines.model_files import weight_version

from ..adapter import add_adapter
from ..batch import TrainSequence
from ..config import TrainerConfig
from ..model import MicroBatch, TokenModel
from ..packing import micro_batches
from ..policy import Policy, checkpoint_activations, frozen_dtype, hasten, stored_dtype
from .padding import Padding

HEAD = "score"
_TOLERANCE = {torch.float32: 1e-2, torch.float64: 1e-6}
_HALF_TOLERANCE = 0.5
"""Of the last hidden state, in units of its largest entry; half precision rounds differently in every order."""


class HeadModel(TokenModel):
    """Wraps a transformers model for sequence classification that already uses packed attention."""

    def forward(self, micro: MicroBatch) -> tuple[Tensor, Tensor]:
        """The logits at the predicted places ``[R]`` in single precision, and zeros where a policy has entropies."""
        states = self.states(micro)
        weight = cast("Tensor", self.lm.get_submodule(HEAD).weight)
        precise = torch.promote_types(states.dtype, torch.float32)
        with torch.autocast(states.device.type, enabled=False):
            # No view of a larger tensor: FSDP hooks what is returned.
            logits = torch.mv(states.to(precise), weight.to(precise)[0])
        return logits, torch.zeros_like(logits)

    def states(self, micro: MicroBatch) -> Tensor:
        """The last hidden states at the predicted places ``[R, d]``."""
        out = self.lm.base_model(
            input_ids=micro.tokens, position_ids=micro.positions, use_cache=False, **{PLAN: micro.plan}
        )
        return out.last_hidden_state[0][micro.predict]


def load_head(config: TrainerConfig, device: torch.device, *, source: Path, padding: Padding, head: Head) -> Policy:
    """The model in ``source`` with a score head, whose ``config.json`` will say which ``head`` it is.

    Raises:
        StartError: it cannot be loaded, has no such head in transformers, or cannot be trained packed.
    """
    compute, stored = pick_dtype(config.dtype, device), frozen_dtype(config, device)
    lm = _read(source, config, stored, padding).to(device=device)
    setattr(lm.config, ENTRY, head.entry())
    model = _packed(lm, name=config.hf_checkpoint)
    if config.lora_rank:
        add_adapter(
            lm, rank=config.lora_rank, alpha=config.lora_alpha, seed=config.seed, dtype=stored_dtype(compute), head=HEAD
        )
    hasten(lm, config)
    if config.gradient_checkpointing:
        checkpoint_activations(lm)
    return Policy(
        model=model,
        source=source,
        base_version=weight_version(source),
        device=device,
        compute=compute,
        tokenizer=padding.tokenizer,
    )


def _read(source: Path, config: TrainerConfig, dtype: torch.dtype, padding: Padding) -> Any:
    from safetensors import SafetensorError
    from transformers import AutoModelForSequenceClassification

    try:
        with no_bars(), _unwarned():
            loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                str(source),
                dtype=dtype,
                num_labels=1,
                pad_token_id=padding.token_id,
                output_loading_info=True,
                trust_remote_code=config.trust_remote_code,
            )
    except (SafetensorError, OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise StartError(f"the model in {str(source)!r} could not be loaded with a score head: {first}") from error
    model, report = loaded
    head: Any = dict(model.named_children()).get(HEAD)
    if not isinstance(head, nn.Linear) or cast("Tensor | None", head.bias) is not None or head.out_features != 1:
        raise StartError(
            f"{type(model).__name__} does not end in a linear layer {HEAD!r} without bias, which SGLang and vLLM read; "
            "train a head on a decoder model such as Llama or Qwen"
        )
    lacking = sorted(str(key) for key in report["missing_keys"])
    if others := [name for name in lacking if name != f"{HEAD}.weight"]:
        raise StartError(f"{str(source)!r} lacks {len(others)} weights of its model, first {others[0]!r}")
    if lacking:
        nn.init.zeros_(head.weight)
    model.config.id2label, model.config.label2id = {0: "reward"}, {"reward": 0}
    return model


@contextmanager
def _unwarned() -> Generator[None]:
    """Alone on purpose: that the head is new, and the output layer left out, is what was asked for."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _packed(lm: Any, *, name: str) -> HeadModel:
    """The model, switched to packed attention, and proved to have the same last states. Raises StartError."""
    for module in lm.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    model = HeadModel(lm)
    sequences = _probes(lm.get_input_embeddings().weight.shape[0])
    with torch.no_grad():
        lm.eval()
        expected = torch.stack([_alone(lm, sequence) for sequence in sequences])
        lm.train()
        register()
        lm.set_attn_implementation(PACKED)
        [[rows]] = micro_batches(sequences, 1 << 20)
        micro = MicroBatch.of(rows, sequences, lm.device, masked=True)
        order = torch.tensor(micro.samples, device=lm.device).argsort()
        try:
            found = model.states(micro)[order]
        except (UnsupportedAttentionError, RuntimeError, TypeError, KeyError, AttributeError) as error:
            raise StartError(f"the trainer cannot run {name!r} packed: {error}") from error
    off = float((found - expected).abs().max() / expected.abs().max())
    if not off <= _TOLERANCE.get(lm.dtype, _HALF_TOLERANCE):
        raise StartError(
            f"the trainer cannot run {name!r} packed: its last states differ by {off:.3g} of their size from the "
            "model's own, so its attention does something that packing does not know"
        )
    return model


def _alone(lm: Any, sequence: TrainSequence) -> Tensor:
    ids = torch.tensor([[*sequence.prompt_ids, *sequence.response_ids[:-1]]], device=lm.device)
    return lm.base_model(input_ids=ids, use_cache=False).last_hidden_state[0, -1]


def _probes(vocabulary: int) -> list[TrainSequence]:
    ids = [(7919 * i + 13) % vocabulary for i in range(40)]
    parts = [(ids[:9], ids[9:17]), (ids[:9], ids[17:22]), (ids[22:27], ids[27:40])]
    return [
        TrainSequence(prompt_ids=tuple(p), response_ids=tuple(r), loss_mask=(False,) * (len(r) - 1) + (True,))
        for p, r in parts
    ]
