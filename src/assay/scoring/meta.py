"""The meta RM at work: the logit of a vote, from a reward engine, with cache and de-duplication.

Owns which votes can be asked about, and the counting. Does not own the prompt (``judges.meta``) or which votes are then
kept (``voting.decide``).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import ChatPrompt, Completion, Failure, FailureKind, Item, Json, Usage, Verdict, Vote
from assay.engines.base import EngineInfo, Reward, RewardEngine
from assay.judges.meta import MetaPrompt, prompt_hash

from .boundary import reward_one
from .cache import VerdictCache
from .dedup import SingleFlight

_FORMAT = 1


@dataclass(slots=True)
class MetaCounts:
    """Counted once per vote asked about, when it has ended."""

    scored: int = 0
    cached: int = 0
    """Of ``scored``: known already, or joined to an equal call in flight."""
    failures: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)

    def snapshot(self) -> dict[str, Json]:
        return {
            "scored": self.scored,
            "cached": self.cached,
            "failures": dict(self.failures),
            "calls": self.usage.calls,
            "prompt_tokens": self.usage.prompt_tokens,
        }


class MetaScorer:
    """Asks one reward engine about votes. Safe to use from many tasks of one event loop.

    The cache may be that of the scorer: a logit is kept as the text of a completion, under a key of its own kind. It is
    not closed here.
    """

    def __init__(
        self, engine: RewardEngine, *, cache: VerdictCache | None = None, prompt: MetaPrompt | None = None
    ) -> None:
        self.engine = engine
        self.cache = cache
        self.prompt = prompt or MetaPrompt()
        self.counts = MetaCounts()
        self._flights: SingleFlight[Reward | Failure] = SingleFlight()

    @property
    def info(self) -> EngineInfo:
        return self.engine.info

    @property
    def identity(self) -> str:
        """Prompt, model and weight version: equal identities, equal logits. Final once started."""
        info = self.engine.info
        return f"{self.prompt.asks}-{digest([info.model, info.weight_version])[:12]}"

    async def start(self) -> None:
        """Start the engine. Raises StartError, or InputError: also for a model that cannot read a conversation."""
        await self.engine.start()
        info = self.engine.info
        if "chat" not in info.capabilities:
            await self.engine.close()
            raise InputError(
                f"the meta RM {info.model!r} is shown conversations and has no chat template; name another"
            )

    async def close(self) -> None:
        """Close the engine."""
        await self.engine.close()

    async def score(self, item: Item, vote: Vote, deadline: Deadline) -> float | Failure:
        """The logit of a vote about ``item``, or why there is none; never raises, never a made-up number.

        A vote without a verdict, or whose verdict has no text, is ``meta_error`` and is not asked about.

        Args:
            item: whole; a vote about one of its candidates (``Vote.candidate``) is shown with that one alone.
        """
        prompt = self._prompt(item, vote)
        outcome = prompt if isinstance(prompt, Failure) else await self._ask(prompt, deadline)
        if isinstance(outcome, Failure):
            self.counts.failures[str(outcome.kind)] += 1
            return outcome
        self.counts.scored += 1
        return outcome.logit

    def _prompt(self, item: Item, vote: Vote) -> ChatPrompt | Failure:
        if not isinstance(vote.outcome, Verdict):
            return _failed(f"the vote holds no verdict ({vote.outcome.kind})")
        if not vote.outcome.text.strip():
            return _failed("the judge wrote no text that could be scored")
        order = vote.draw.order
        if item.n != len(order) and vote.candidate is not None:
            item = item.only(vote.candidate)
        if item.n != len(order):
            return _failed(f"the vote is about {len(order)} candidates, item {item.id!r} has {item.n}")
        try:
            return self.prompt.build(item, order, vote.outcome.text)
        except InputError as error:
            return _failed(str(error))

    async def _ask(self, prompt: ChatPrompt, deadline: Deadline) -> Reward | Failure:
        info = self.engine.info
        key = digest([_FORMAT, self.prompt.asks, info.model, info.weight_version, prompt_hash(prompt)])
        known = self._known(key)
        if known is not None:
            self.counts.cached += 1
            return known
        while True:
            try:
                async with asyncio.timeout(deadline.timeout):
                    outcome, joined = await self._flights.run(key, lambda: self._call(key, prompt, deadline))
            except TimeoutError:
                return Failure(
                    kind=FailureKind.TIMEOUT, detail="the reward model had not answered when the deadline passed"
                )
            if not joined:
                return outcome
            if isinstance(outcome, Reward):
                self.counts.cached += 1
                return outcome
            # The deadline of whoever made the call, and their leaving, are not ours.
            if outcome.kind not in (FailureKind.TIMEOUT, FailureKind.CANCELLED) or deadline.expired:
                return outcome

    async def _call(self, key: str, prompt: ChatPrompt, deadline: Deadline) -> Reward | Failure:
        info = self.engine.info
        outcome = await reward_one(self.engine, prompt, deadline)
        read = 0 if isinstance(outcome, Failure) else outcome.prompt_tokens
        self.counts.usage += Usage(calls=1, prompt_tokens=read)
        if isinstance(outcome, Reward) and self.cache is not None:
            kept = Completion(
                request_id="meta",
                text=repr(outcome.logit),
                prompt_tokens=read,
                model=info.model,
                weight_version=info.weight_version,
            )
            self.cache.put(key, (kept,))
        return outcome

    def _known(self, key: str) -> Reward | None:
        kept = None if self.cache is None else self.cache.get(key)
        return None if not kept else Reward(logit=float(kept[0].text), prompt_tokens=kept[0].prompt_tokens)


def _failed(detail: str) -> Failure:
    return Failure(kind=FailureKind.META_ERROR, detail=detail)
