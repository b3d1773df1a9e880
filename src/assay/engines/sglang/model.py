"""A model's folder as far as this engine must know it: vocabulary, shapes, size. Reads files; no torch.

A server takes some weights and some token ids only once: an id beyond the vocabulary and weights of other shapes both
end it. So both are checked here first, against the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from assay.core.errors import GenerationError, InputError
from assay.core.types import FailureKind

from ..model_files import tensor_shapes, weight_files
from ..parameters import active_parameters

_SHAPING = (
    "architectures",
    "model_type",
    "hidden_size",
    "intermediate_size",
    "moe_intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "vocab_size",
    "tie_word_embeddings",
    "quantization_config",
)
"""Fields of config.json that decide which tensors a server holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """What the files of a model say.

    ``poison``: texts that the tokenizer turns into ids beyond the vocabulary. Most models have none; a model whose
    tokenizer got a token more than its embedding has one, and a candidate answer that contains it would end the server.
    ``parameters``: active ones, where the files say.
    """

    path: Path
    config: Mapping[str, Any]
    vocab_size: int
    max_positions: int | None
    weight_bytes: int
    poison: tuple[str, ...]
    parameters: int | None = None

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raises GenerationError (bad_request) for ids that the server would not survive, or none at all."""
        if not ids:
            raise _bad("the token prompt is empty")
        lowest, highest = min(ids), max(ids)
        if lowest < 0 or highest >= self.vocab_size:
            strange = highest if highest >= self.vocab_size else lowest
            raise _bad(f"token id {strange!r} is outside the vocabulary of {self.vocab_size}: 0..{self.vocab_size - 1}")

    def check_text(self, text: str) -> None:
        """Raises GenerationError (bad_request) for a text with a token that the model has no embedding for."""
        for token in self.poison:
            if token in text:
                raise _bad(f"the text contains {token!r}, a token beyond the model's vocabulary of {self.vocab_size}")

    def context_len(self, wanted: int | None) -> int | None:
        """``wanted``, or the model's own limit where that is less and known."""
        limits = [limit for limit in (wanted, self.max_positions) if limit is not None]
        return min(limits) if limits else None


def read_model(path: Path) -> ModelFiles:
    """Raises InputError: the folder is not a model that can be served."""
    config = _json(path / "config.json")
    text = config.get("text_config")
    inner: Mapping[str, Any] = cast("dict[str, Any]", text) if isinstance(text, dict) else config
    vocab_size = inner.get("vocab_size", config.get("vocab_size"))
    if not isinstance(vocab_size, int) or vocab_size < 1:
        raise InputError(f"{str(path / 'config.json')!r} names no vocab_size; token ids could not be checked")
    positions = inner.get("max_position_embeddings")
    return ModelFiles(
        path=path,
        config=config,
        vocab_size=vocab_size,
        max_positions=positions if isinstance(positions, int) and not _stretched(inner) else None,
        weight_bytes=sum(file.stat().st_size for file in weight_files(path)),
        poison=_poison(path, vocab_size),
        parameters=active_parameters(config, tensor_shapes(path)),
    )


def replacement(served: ModelFiles, name: str) -> ModelFiles:
    """The model in a folder, once it is clear that a server which holds ``served`` can take its weights.

    Raises:
        InputError: it is no folder with weights, or its tensors are others; the first difference is named.
    """
    source = Path(name).expanduser().resolve()
    _check_same_shapes(served, source)
    return read_model(source)


def _check_same_shapes(served: ModelFiles, source: Path) -> None:
    if not source.is_dir() or not (source / "config.json").is_file() or not weight_files(source):
        raise InputError(f"{str(source)!r} is no folder with config.json and safetensors; new weights come from one")
    config = _json(source / "config.json")
    for name in _SHAPING:
        for old, new in ((served.config, config), (_text(served.config), _text(config))):
            if old.get(name) != new.get(name):
                difference = f"{name} is {new.get(name)!r}, the engine runs {old.get(name)!r}"
                raise InputError(f"the weights in {str(source)!r} do not fit: {difference}; start a new engine")
    old, new = tensor_shapes(served.path), tensor_shapes(source)
    # Of tied weights some programs save both names, and some one.
    optional = {"lm_head.weight"} if served.config.get("tie_word_embeddings") else set[str]()
    for name in sorted((old.keys() | new.keys()) - optional):
        if old.get(name) != new.get(name):
            difference = f"tensor {name!r} is {new.get(name) or 'missing'}, the engine has {old.get(name) or 'none'}"
            raise InputError(f"the weights in {str(source)!r} do not fit: {difference}; start a new engine")


def _stretched(config: Mapping[str, Any]) -> bool:
    """Whether positions are scaled; then only SGLang knows how long the context is."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    return scaling.get("rope_type", scaling.get("type", "default")) != "default"


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a multimodal model's configuration that describes its language model."""
    inner = config.get("text_config")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}


def _poison(path: Path, vocab_size: int) -> tuple[str, ...]:
    found: dict[str, int] = {}
    if (path / "added_tokens.json").is_file():
        found |= _json(path / "added_tokens.json")
    if (path / "tokenizer_config.json").is_file():
        decoder = _json(path / "tokenizer_config.json").get("added_tokens_decoder") or {}
        found |= {entry["content"]: int(number) for number, entry in decoder.items()}
    if (path / "tokenizer.json").is_file():
        added: list[dict[str, Any]] = _json(path / "tokenizer.json").get("added_tokens") or []
        found |= {entry["content"]: entry["id"] for entry in added}
    return tuple(sorted(text for text, number in found.items() if number >= vocab_size))


def _json(file: Path) -> dict[str, Any]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{str(file)!r} cannot be read ({error}); is the model's folder complete?") from error
    if not isinstance(data, dict):
        raise InputError(f"{str(file)!r} holds no JSON object; is the model's folder complete?")
    return cast("dict[str, Any]", data)


def _bad(detail: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, detail)
