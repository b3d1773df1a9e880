"""The tokenizer and the limits of a model to train, read before its weights are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from assay.engines.embedded.finding import find_model
from assay.engines.embedded.loading import explained

from .config import TuningConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """What is known of a model without its weights.

    ``ends``: ids that end an answer, the tokenizer's own first. ``context``: most tokens; None where nothing says.
    """

    path: Path
    tokenizer: Any
    vocabulary: int
    ends: tuple[int, ...]
    context: int | None


def open_source_model(config: TuningConfig) -> ModelSource:
    """The model that ``hf_checkpoint`` names.

    Raises:
        InputError, StartError: there is no such model, or it has no tokenizer.
    """
    from transformers import AutoConfig, AutoTokenizer

    path = find_model(config.hf_checkpoint, with_code=config.trust_remote_code)
    with explained(config.hf_checkpoint, path):
        tokenizer: Any = AutoTokenizer.from_pretrained(str(path), trust_remote_code=config.trust_remote_code)
        text: Any = AutoConfig.from_pretrained(str(path), trust_remote_code=config.trust_remote_code).get_text_config()
    own = [] if tokenizer.eos_token_id is None else [int(tokenizer.eos_token_id)]
    settings = cast("dict[str, Any]", text.to_dict())
    return ModelSource(
        path=path,
        tokenizer=tokenizer,
        vocabulary=int(text.vocab_size),
        ends=tuple(dict.fromkeys([*own, *_generation_ends(path)])),
        context=settings.get("max_position_embeddings"),
    )


def _generation_ends(path: Path) -> list[int]:
    file = path / "generation_config.json"
    said = json.loads(file.read_text("utf-8")).get("eos_token_id") if file.is_file() else None
    return [int(one) for one in (said if isinstance(said, list) else [said]) if one is not None]
