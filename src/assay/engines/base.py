"""The generation protocol, and apart from it sleep/wake and weight update.

An engine raises ``GenerationError`` with the kind of failure; it never returns a made-up text. Cancelling the task that
awaits ``generate`` aborts the generation: nobody decodes for a caller who has left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Completion, FinishReason, Json, Request, TokenPrompt

Capability = Literal["chat", "tokens", "rules", "choices", "logprobs", "token_ids", "images", "regex", "json_schema"]
Tag = Literal["weights", "kv_cache"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What an engine says of itself; ``model`` and ``weight_version`` go into cache keys and records."""

    model: str
    weight_version: str
    capabilities: frozenset[Capability]
    context_len: int | None = None
    """Most tokens of prompt and reply together; None when the engine does not say."""
    batch_invariant: bool = False
    """Equal request, equal seed, equal text, whatever else runs at the same time."""
    num_gpus: int = 0
    num_engines: int = 1
    adapter: str = ""
    """Name and digest of the LoRA adapter that is in the weights, which ``model`` and ``weight_version`` reflect."""
    parameters: int | None = None
    """Active parameters: those that a token passes, of a mixture of experts only the chosen ones. None = not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHealth:
    """``healthy``: what a caller may rely on now; ``state``, ``error``: why not. Asleep on purpose is healthy."""

    healthy: bool
    state: str
    error: str | None = None
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Live figures of the engine (running, waiting, cached tokens, ...), for ``/metrics``."""


class Engine(Protocol):
    """Turns requests into completions."""

    @property
    def info(self) -> EngineInfo: ...

    async def start(self) -> None:
        """Load or connect. Raises StartError (it cannot be started) or InputError (unknown model, unknown argument)."""
        ...

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """``request.n`` completions, in index order; with ``choices`` one completion. Raises GenerationError."""
        ...

    async def health(self) -> EngineHealth: ...

    async def close(self) -> None:
        """Stop and free everything; what still runs is aborted. Closing twice is fine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What one sample grew by since its last delta; ``finish_reason`` is set on the last one of each ``index``."""

    index: int
    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] | None = None
    finish_reason: FinishReason | None = None


@runtime_checkable
class StreamingEngine(Protocol):
    """An engine that can hand out a text while it grows. Errors as in ``Engine.generate``."""

    def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]: ...


@runtime_checkable
class Offloadable(Protocol):
    """An engine that can give its memory back and take it again. Both return the bytes freed (taken)."""

    async def sleep(self, tags: frozenset[Tag]) -> int: ...
    async def wake(self, tags: frozenset[Tag]) -> int: ...


@runtime_checkable
class TensorUpdatable(Protocol):
    """An engine in this process that takes weights as tensors, by the names that transformers gives them."""

    async def update_tensors(self, tensors: Iterable[tuple[str, Any]], version: str) -> int:
        """Take all weights (tied ones once) after the requests accepted so far; the bytes taken.

        Raises:
            InputError: a weight is missing, unknown or of another shape; then the old ones go on serving.
        """
        ...


@runtime_checkable
class Updatable(Protocol):
    """An engine whose weights can be replaced; every later completion carries ``version``."""

    async def update_weights(self, source: str, version: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """What a reward model answered: one finite logit (log-odds, no sigmoid), and the tokens that it read."""

    logit: float
    prompt_tokens: int = 0


class RewardEngine(Protocol):
    """Turns a whole text into one number. One call a prompt, so that one may fail alone; calls at once are batched."""

    @property
    def info(self) -> EngineInfo:
        """``capabilities`` says which prompts it takes: ``chat``, ``tokens``; ``context_len`` bounds them."""
        ...

    async def start(self) -> None:
        """As ``Engine.start``. A model that does not end in exactly one logit is an InputError."""
        ...

    async def reward(self, prompt: ChatPrompt | TokenPrompt, deadline: Deadline) -> Reward:
        """The logit of a prompt, which is never cut. A chat prompt ends with the turn that is scored.

        Raises:
            GenerationError: as ``Engine.generate``; CONTEXT_OVERFLOW for a prompt that is too long.
        """
        ...

    async def health(self) -> EngineHealth: ...

    async def close(self) -> None:
        """As ``Engine.close``."""
        ...
