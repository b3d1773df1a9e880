"""The canary: fixed prompts by which an engine proves that it is still the judge that it was.

``run_canary`` asks them (greedy, with the log-probs of what was said) and gives a print; ``compare`` holds two prints
against each other and is pure. Owns the prompts and the tolerance; who runs it when stands in ``lifecycle``.

An engine whose weights came back as zeros or as somebody else's answers 200 with fluent or empty text. Its log-probs
give it away: those of the same weights agree to some hundredths of a nat, those of zeros are off by many nats.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from assay.core.config import Config
from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Completion, Message, Prompt, Request, SamplingParams, TokenPrompt

from .base import Capability, Engine

QUESTIONS = (
    "Name the three primary colours, separated by commas.",
    "Is 17 a prime number? Answer yes or no, then say why in one sentence.",
    "用一句话说明为什么天空是蓝色的。",
)
TOKENS = (tuple(range(5, 21)), tuple(range(40, 24, -1)))
"""For an engine without a chat template: ids that every vocabulary has."""
LN_HALF = math.log(0.5)


class CanaryConfig(Config):
    """How far an engine may be from itself."""

    max_new_tokens: int = Field(default=12, ge=1)
    """Tokens of each reply."""
    max_nats: float = Field(default=0.25, gt=0)
    """Largest difference of the log-prob of any one token."""
    mean_nats: float = Field(default=0.05, gt=0)
    """Largest mean difference over all tokens compared."""
    timeout_s: float = Field(default=60, gt=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an engine said to one prompt. ``logprobs`` is None where it hands none out; the texts are compared then."""

    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far two prints are apart. ``reason`` is None when they are those of one judge."""

    reason: str | None
    max_nats: float = 0.0
    mean_nats: float = 0.0
    tokens: int = 0
    """Tokens compared."""

    @property
    def passed(self) -> bool:
        return self.reason is None


def canary_requests(capabilities: frozenset[Capability], config: CanaryConfig) -> tuple[Request, ...]:
    """The requests of the canary; none for an engine that answers neither conversations nor token ids."""
    prompts: tuple[Prompt, ...] = ()
    if "chat" in capabilities:
        prompts = tuple(ChatPrompt(messages=(Message(role="user", content=text),)) for text in QUESTIONS)
    elif "tokens" in capabilities:
        prompts = tuple(TokenPrompt(token_ids=ids) for ids in TOKENS)
    sampling = SamplingParams(
        temperature=0.0,
        max_new_tokens=config.max_new_tokens,
        seed=0,
        logprobs=0 if "logprobs" in capabilities else None,
    )
    return tuple(Request(id=f"canary-{n}", prompt=prompt, sampling=sampling) for n, prompt in enumerate(prompts))


async def run_canary(engine: Engine, config: CanaryConfig) -> tuple[Said, ...]:
    """What the engine says to the canary now. Nothing else should run, so that it is asked alike every time.

    Raises:
        GenerationError: it does not answer.
    """
    deadline = Deadline.after(config.timeout_s)
    requests = canary_requests(engine.info.capabilities, config)
    tasks = [asyncio.ensure_future(engine.generate(request, deadline)) for request in requests]
    try:
        answers = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return tuple(_said(completions[0]) for completions in answers)


def compare(recorded: Sequence[Said], now: Sequence[Said], config: CanaryConfig) -> Drift:
    """How far ``now`` is from ``recorded``.

    Each reply is compared token by token up to the first place at which two tokens were about equally likely (see
    ``_near_tie``): there the tokens may differ, and what follows then has another context. Two other tokens, a
    log-prob that is not finite, or differences over the tolerance are a drift.
    """
    if len(recorded) != len(now):
        return Drift(reason=f"{len(now)} replies instead of {len(recorded)}")
    gaps: list[float] = []
    for number, (before, after) in enumerate(zip(recorded, now, strict=True)):
        fault = _compare_one(before, after, config, gaps)
        if fault is not None:
            return _drift(f"reply {number}: {fault}", gaps)
    drift = _drift(None, gaps)
    if drift.max_nats > config.max_nats:
        return _drift(f"a log-prob is off by {drift.max_nats:.3g} nats; {config.max_nats:g} are allowed", gaps)
    if drift.mean_nats > config.mean_nats:
        return _drift(f"log-probs are off by {drift.mean_nats:.3g} nats on average; {config.mean_nats:g} allowed", gaps)
    return drift


def _compare_one(before: Said, after: Said, config: CanaryConfig, gaps: list[float]) -> str | None:
    """Adds the differences of one reply to ``gaps``; the fault that ends the comparison, if there is one."""
    if before.logprobs is None or after.logprobs is None:
        return None if before.text == after.text else f"{after.text!r:.60} instead of {before.text!r:.60}"
    places = zip(before.token_ids, before.logprobs, after.token_ids, after.logprobs, strict=False)
    for place, (token, logprob, token_now, logprob_now) in enumerate(places):
        if not math.isfinite(logprob_now):
            return f"the log-prob of token {place} is {logprob_now}"
        gaps.append(abs(logprob - logprob_now))
        if token == token_now:
            continue
        if _near_tie(logprob, logprob_now, config.max_nats):
            return None
        return f"token {place} is {token_now} instead of {token}"
    return _compare_lengths(before.logprobs, after.logprobs, config.max_nats)


def _compare_lengths(before: Sequence[float], after: Sequence[float], tolerance: float) -> str | None:
    """Of two replies that are equal as far as the shorter one goes: it may have ended there only in a near tie."""
    if len(before) == len(after):
        return None
    longer, end = max(before, after, key=len), min(len(before), len(after))
    return None if longer[end] <= LN_HALF + tolerance else f"{len(after)} tokens instead of {len(before)}"


def _near_tie(first: float, second: float, tolerance: float) -> bool:
    """Whether two tokens, each the likeliest in its run, can have been about equally likely in one distribution.

    Then their log-probs are close, and neither can be much over one half.
    """
    return abs(first - second) <= tolerance and max(first, second) <= LN_HALF + tolerance


def _drift(reason: str | None, gaps: Sequence[float]) -> Drift:
    if not gaps:
        return Drift(reason=reason)
    return Drift(reason=reason, max_nats=max(gaps), mean_nats=math.fsum(gaps) / len(gaps), tokens=len(gaps))


def _said(completion: Completion) -> Said:
    return Said(text=completion.text, token_ids=completion.token_ids, logprobs=completion.logprobs)
