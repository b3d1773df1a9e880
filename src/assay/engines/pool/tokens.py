"""What a request will cost, in tokens, before any engine has seen it; and by which prefixes its prompt is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.types import DEFAULT_SAMPLING, ChatPrompt, Completion, Prompt, Request, TokenPrompt

BYTES_PER_TOKEN = 4
"""About right for English; Chinese comes out at three quarters of a token a character."""
CHUNK_TOKENS = 128
"""Prefixes are told apart at this grain."""
MAX_CHUNKS = 64
PREFILL = 0.1
"""Work of a prompt token, in reply tokens: prompts are computed many tokens at a time."""
_SMOOTHING = 0.05


def prompt_tokens(prompt: Prompt) -> int:
    """An estimate; exact for token ids. A rule costs one."""
    match prompt:
        case ChatPrompt(messages=messages):
            return 1 + sum(len(message.text.encode(errors="replace")) for message in messages) // BYTES_PER_TOKEN
        case TokenPrompt(token_ids=ids):
            return max(1, len(ids))
        case _:
            return 1


def work(prompt: int, cached: int, reply: int) -> float:
    """What a request has an engine do, in reply tokens: ``cached`` of the ``prompt`` tokens cost nothing."""
    return PREFILL * max(0, prompt - cached) + reply


def prefix_keys(prompt: Prompt) -> tuple[int, ...]:
    """A key for each whole chunk of the prompt and all before it, so the longest prefix comes last."""
    match prompt:
        case ChatPrompt(messages=messages):
            limit = CHUNK_TOKENS * BYTES_PER_TOKEN
            return _chain("\0".join(f"{message.role}\0{message.text}" for message in messages), limit)
        case TokenPrompt(token_ids=ids):
            return _chain(ids, CHUNK_TOKENS)
        case _:
            return ()


def _chain(whole: Sequence[Any], chunk: int) -> tuple[int, ...]:
    keys: list[int] = []
    key = 0
    for start in range(0, min(len(whole) - chunk + 1, MAX_CHUNKS * chunk), chunk):
        key = hash((key, whole[start : start + chunk]))
        keys.append(key)
    return tuple(keys)


class ReplyLength:
    """How long replies are, learned from those seen."""

    def __init__(self, start: float = 128.0) -> None:
        self.mean = start

    def learn(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            self.mean += _SMOOTHING * (completion.completion_tokens - self.mean)

    def expect(self, request: Request) -> int:
        """Tokens that all samples of a request will have together."""
        if request.choices is not None:
            return len(request.choices)
        limit = request.sampling.max_new_tokens or DEFAULT_SAMPLING.max_new_tokens or 1
        return max(1, round(request.n * min(limit, self.mean)))
