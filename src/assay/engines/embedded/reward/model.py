"""A reward model, loaded and checked: one logit, out of a head that the checkpoint really has.

The logit is read at a prompt's last token, as SGLang and vLLM do. Transformers itself reads it at the last token that
is not the padding token, so where a model pads with its end of turn, it would be one token early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from assay.core.errors import InputError, StartError

from ...model_files import Shapes, tensor_shapes, weight_version
from ..bars import no_bars
from ..chat import Renderer
from ..finding import find_model
from ..loading import explained, pick_device, pick_dtype
from .config import EmbeddedRewardConfig

_HEADS = frozenset({"score", "classifier", "classification_head"})
"""Names of heads in transformers' models for sequence classification."""
_CUDA_BATCH = 16
_TOLERANCE = {torch.float32: 1e-3}
_HALF_TOLERANCE = 0.25
"""Logits beside each other and alone, in the check at load; a wrong mask or place is off by more."""


@dataclass(slots=True, kw_only=True)
class RewardModel:
    """A model in use, from one thread.

    ``max_batch``: rows to compute together. ``pad_id``: the model's own; None where it names none.
    """

    name: str
    version: str
    device: torch.device
    context_len: int
    max_batch: int
    vocabulary: int
    renderer: Renderer
    model: Any
    pad_id: int | None

    @torch.inference_mode()
    def logits(self, rows: Sequence[Sequence[int]]) -> list[float]:
        """The logit of each row of token ids, computed together: padded at the right, the padding masked out."""
        longest = max(map(len, rows))
        pad = self._free_id(rows)
        ids = torch.full((len(rows), longest), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(list(row), dtype=torch.long)
            mask[place, : len(row)] = 1
        # Transformers finds the end of a row by this id.
        self.model.config.get_text_config().pad_token_id = pad
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        out = self.model(**inputs)
        if tuple(out.logits.shape) != (len(rows), 1):
            raise StartError(f"{self.name!r} answers with shape {tuple(out.logits.shape)}, not one logit a prompt")
        return [float(logit) for logit in out.logits[:, 0].float().cpu()]

    def _free_id(self, rows: Sequence[Sequence[int]]) -> int:
        """The padding id, or another one where a prompt itself has it: no token of a prompt may look like padding."""
        used = set[int]().union(*rows)
        if self.pad_id is not None and self.pad_id not in used:
            return self.pad_id
        return next(token for token in range(self.vocabulary) if token not in used)


def load_reward_model(config: EmbeddedRewardConfig) -> RewardModel:
    """Find, load and check the model that ``config`` names.

    Raises:
        InputError: there is none, it has no score head, or it does not end in exactly one logit.
        StartError: it cannot be loaded or run.
    """
    from transformers import AutoTokenizer

    if config.threads is not None:
        torch.set_num_threads(config.threads)
    device = pick_device(config.device)
    path = find_model(config.model, with_code=config.trust_remote_code)
    _check_head(config, path)
    with explained(config.model, path):
        tokenizer = AutoTokenizer.from_pretrained(str(path), trust_remote_code=config.trust_remote_code)
    model = _load(config, path, pick_dtype(config.dtype, device)).to(device).eval()
    text = model.config.get_text_config()
    text.use_cache = False
    vocabulary = cast("int", model.get_input_embeddings().weight.shape[0])
    # Models without a table of positions name no limit.
    own_limit = getattr(text, "max_position_embeddings", None) or config.max_context_len
    loaded = RewardModel(
        name=config.model,
        version=weight_version(path),
        device=device,
        context_len=min(config.max_context_len, own_limit),
        max_batch=config.max_batch or (_CUDA_BATCH if device.type == "cuda" else 1),
        vocabulary=vocabulary,
        renderer=Renderer(tokenizer, vocabulary),
        model=model,
        pad_id=_pad_id(text.pad_token_id, vocabulary),
    )
    _prove(loaded, model.dtype)
    return loaded


def _check_head(config: EmbeddedRewardConfig, path: Path) -> None:
    """Before any weight is read: the files have a head, and config.json and the head say one logit."""
    from transformers import AutoConfig

    with explained(config.model, path):
        own: Any = AutoConfig.from_pretrained(str(path), trust_remote_code=config.trust_remote_code)
    heads = _heads(tensor_shapes(path))
    if not heads:
        what = (own.architectures or ["a model without a name"])[0]
        raise InputError(
            f"model {config.model!r} ({what}) has no score head: its files hold no tensor like 'score.weight', and "
            "transformers would draw one at random. Name a model for sequence classification"
        )
    rows = {shape[0] for shape in heads.values() if shape}
    if own.num_labels != 1 or 1 not in rows:
        shown = ", ".join(f"{name} {list(shape)}" for name, shape in sorted(heads.items()))
        raise InputError(
            f"model {config.model!r} has num_labels={own.num_labels} ({shown}); a reward model ends in exactly one "
            "logit. Name one with num_labels=1, or train and save it so"
        )


def _heads(shapes: Shapes) -> Shapes:
    return {name: shape for name, shape in shapes.items() if _HEADS & set(name.split("."))}


def _load(config: EmbeddedRewardConfig, path: Path, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForSequenceClassification

    with explained(config.model, path), no_bars():
        loaded: Any = AutoModelForSequenceClassification.from_pretrained(
            str(path), dtype=dtype, output_loading_info=True, trust_remote_code=config.trust_remote_code
        )
    model, report = loaded
    missing = sorted(str(key) for key in report["missing_keys"])
    if missing:
        raise InputError(
            f"model {config.model!r}: {str(path)!r} lacks {len(missing)} weights of {type(model).__name__}, first "
            f"{missing[0]!r}; transformers would draw them at random"
        )
    return model


def _pad_id(named: Any, vocabulary: int) -> int | None:
    return named if isinstance(named, int) and 0 <= named < vocabulary else None


def _prove(loaded: RewardModel, dtype: torch.dtype) -> None:
    """Two prompts of different lengths have the same logits beside each other and alone. Raises StartError."""
    rows = [[(7919 * place + 13) % loaded.vocabulary for place in range(length)] for length in (12, 5)]
    try:
        together, alone = loaded.logits(rows), [loaded.logits([row])[0] for row in rows]
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise StartError(f"the embedded reward engine cannot run {loaded.name!r}: {error}") from error
    off = max(abs(a - b) for a, b in zip(together, alone, strict=True))
    # Also when one of them is no number.
    if not off <= _TOLERANCE.get(dtype, _HALF_TOLERANCE) * max(1.0, *map(abs, alone)):
        raise StartError(
            f"the embedded reward engine cannot run {loaded.name!r}: a prompt's logit changes by {off:.3g} when "
            "another one is computed beside it; serve this model with SGLang or vLLM"
        )
