"""The fake reward engine: logits by rule, with faults. Deterministic: both follow from the prompt alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.core.config import Config
from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.seeds import digest
from assay.core.types import ChatPrompt, FailureKind, TokenPrompt
from assay.engines.base import EngineHealth, EngineInfo, Reward

from .draws import draw_fault

RewardFault = Literal["latency", "error_502", "overloaded", "hang"]
Probability = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class FakeRewardConfig(Config):
    """Logits by rule, and faults with given probabilities. Equal prompt, equal logit, equal fault."""

    kind: Literal["fake"] = "fake"
    model: str = "fake-reward"
    logits: dict[str, Finite] = Field(default_factory=dict[str, float])
    """The logit of the first key that the scored turn contains."""
    default: Finite | None = None
    """The logit where ``logits`` has none; None draws one from a standard normal distribution, by the prompt."""
    latency_s: float = Field(default=0, ge=0)
    """Seconds that every call takes."""
    faults: dict[RewardFault, Probability] = Field(default_factory=dict[RewardFault, float])
    """Probability of each fault; together at most 1. ``latency`` answers late, ``hang`` not before the deadline."""
    slow_s: float = Field(default=0.1, ge=0)
    """Seconds that the fault ``latency`` adds."""
    retry_after_s: float = Field(default=1, ge=0)
    """What the fault ``overloaded`` asks for."""
    seed: int = 0
    """Another seed draws other faults and logits."""
    context_len: int | None = Field(default=None, ge=1)
    """Most words of a prompt; a longer one is refused."""

    @model_validator(mode="after")
    def _sums(self) -> Self:
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ValueError(f"the probabilities of faults add up to {sum(self.faults.values()):g}, over 1")
        return self


class FakeRewardEngine:
    """RewardEngine without a model. Needs no start.

    ``rule``, where given, makes the logits instead of the configuration: a function of the texts of the turns.
    """

    def __init__(
        self, config: FakeRewardConfig | None = None, rule: Callable[[tuple[str, ...]], float] | None = None
    ) -> None:
        self._config = config or FakeRewardConfig()
        self._rule = rule
        self._closed = False
        self.calls = 0
        self.running = 0

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            model=self._config.model,
            weight_version="0",
            capabilities=frozenset({"chat", "tokens"}),
            context_len=self._config.context_len,
            batch_invariant=True,
        )

    async def start(self) -> None:
        self._closed = False

    async def reward(self, prompt: ChatPrompt | TokenPrompt, deadline: Deadline) -> Reward:
        """The logit by rule. Raises GenerationError for a fault, the deadline and a prompt too long."""
        self.calls += 1
        self.running += 1
        try:
            return await self._reward(_turns(prompt), deadline)
        finally:
            self.running -= 1

    async def health(self) -> EngineHealth:
        return EngineHealth(
            healthy=not self._closed,
            state="stopped" if self._closed else "awake",
            error="the fake reward engine was closed" if self._closed else None,
            detail={"running": self.running, "calls": self.calls},
        )

    async def close(self) -> None:
        self._closed = True

    async def _reward(self, turns: tuple[str, ...], deadline: Deadline) -> Reward:
        config = self._config
        if self._closed:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the fake reward engine was closed")
        length = sum(len(turn.split()) for turn in turns)
        if config.context_len is not None and length > config.context_len:
            detail = f"the prompt has {length} words, the context of the fake reward engine is {config.context_len}"
            raise GenerationError(FailureKind.CONTEXT_OVERFLOW, detail)
        key = digest([config.seed, list(turns)])
        fault = draw_fault(config.faults, key)
        seconds = config.latency_s + (config.slow_s if fault == "latency" else 0)
        if fault == "hang" or seconds >= deadline.left:
            await asyncio.sleep(deadline.left)
            raise GenerationError(FailureKind.TIMEOUT, "the fake reward engine did not answer before the deadline")
        await asyncio.sleep(seconds)
        if fault == "error_502":
            raise GenerationError(FailureKind.ENGINE_ERROR, "HTTP 502 from the fake reward engine")
        if fault == "overloaded":
            detail = "the fake reward engine is full"
            raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=config.retry_after_s)
        return Reward(logit=self._logit(turns, key), prompt_tokens=length)

    def _logit(self, turns: tuple[str, ...], key: str) -> float:
        if self._rule is not None:
            return self._rule(turns)
        scored = turns[-1] if turns else ""
        known = next((logit for part, logit in self._config.logits.items() if part in scored), self._config.default)
        return random.Random(f"{key}/logit").gauss() if known is None else known


def _turns(prompt: ChatPrompt | TokenPrompt) -> tuple[str, ...]:
    """The texts of the turns; token ids as one turn of numbers."""
    if isinstance(prompt, ChatPrompt):
        return tuple(message.text for message in prompt.messages)
    return (" ".join(map(str, prompt.token_ids)),)
