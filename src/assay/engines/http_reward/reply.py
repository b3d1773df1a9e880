"""What a server answers, as a reward. Pure; a reply that is not exactly one finite number is refused, never reduced.

SGLang, ``POST /classify``: ``{"embedding": [x], "meta_info": {"prompt_tokens": n, ...}}`` for one prompt. Its other
route, ``/v1/classify``, is of no use here: it applies a softmax, which makes 1.0 of every single logit.
vLLM, ``POST /classify``: ``{"data": [{"index", "label", "probs": [x], "num_classes": 1}], "usage": {...}}``, where
``probs`` holds the logit itself when ``use_activation`` is false.
"""

from __future__ import annotations

import math
from typing import Any, cast

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Reward

from ..openai.failures import broken
from ..openai.reply import count

_MOST = 1e30
"""No logit is larger; infinity, NaN and integers beyond every float are not below it."""


class NotOneLogit(GenerationError):
    """The server answers with a vector: an embedding model, or a head with several labels."""

    def __init__(self, count: int) -> None:
        super().__init__(
            FailureKind.ENGINE_ERROR,
            f"the server answers with {count} numbers instead of one logit: it serves an embedding model or a head "
            f"with num_labels={count}; serve a reward model with num_labels=1",
        )


def read_sglang(data: Any) -> Reward:
    """The reward in SGLang's reply to one prompt. Raises GenerationError."""
    found = cast("list[Any]", data)[0] if isinstance(data, list) and len(cast("list[Any]", data)) == 1 else data
    if not isinstance(found, dict):
        raise broken(f"not an object but {found!r:.80}")
    info = found.get("meta_info")
    tokens = info.get("prompt_tokens") if isinstance(info, dict) else None
    return Reward(logit=_one(found.get("embedding"), "embedding"), prompt_tokens=count(tokens))


def read_vllm(data: Any) -> Reward:
    """The reward in vLLM's reply to one prompt. Raises GenerationError."""
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list) or len(cast("list[Any]", rows)) != 1 or not isinstance(rows[0], dict):
        raise broken(f"'data' is {rows!r:.80}, not the result of one prompt")
    usage = data.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return Reward(logit=_one(rows[0].get("probs"), "probs"), prompt_tokens=count(tokens))


def squeezed(asked_off: float, asked_on: float) -> bool:
    """Whether the server applies its activation although it was asked not to.

    Then the two answers to one prompt are equal and lie in 0..1; a sigmoid, and a softmax of one, end there.
    """
    return 0 <= asked_off <= 1 and math.isclose(asked_off, asked_on, rel_tol=1e-3, abs_tol=1e-6)


def _one(given: Any, name: str) -> float:
    numbers: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [given]
    if len(numbers) > 1:
        raise NotOneLogit(len(numbers))
    number = numbers[0] if numbers else None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise broken(f"{name!r} is {given!r:.80}, not a number")
    # JSON also knows integers that no float holds.
    if not abs(number) < _MOST:
        raise broken(f"the logit is {number!r:.40}")
    return float(number)
