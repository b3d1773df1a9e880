"""A rule before a model: where the rule says enough, its verdict stands and the model is not asked.

Owns: what a rule's answer is as a completion of the model's request (``Request.first``). Whatever keeps the rule from
answering (a time limit, arguments that it does not take) sends the question to the model, as does any other answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, Request, Shortcut

from .base import Engine, EngineHealth, EngineInfo

NOTHING = -1000.0
"""ln P of a reply that a rule has ruled out: a probability of 0.0 in floats, and a finite number, as JSON needs."""


class RuleFirst:
    """An ``Engine`` over a model's engine and a rule engine; requests without ``first`` go to the model as they are.

    Starts, checks and closes both; where they belong to somebody else, it is only asked.
    """

    def __init__(self, engine: Engine, rules: Engine) -> None:
        self.engine = engine
        self.rules = rules

    @property
    def info(self) -> EngineInfo:
        """The model's."""
        return self.engine.info

    async def start(self) -> None:
        await self.rules.start()
        try:
            await self.engine.start()
        except BaseException:
            await self.rules.close()
            raise

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. Completions of the rule carry its engine's name as their model."""
        if request.first is None:
            return await self.engine.generate(request, deadline)
        told = await self._told(request, request.first, deadline)
        if told is not None and told.text == request.first.answer:
            return tuple(_reply(request, told, request.first.reply, index) for index in range(request.n))
        return await self.engine.generate(replace(request, first=None), deadline)

    async def health(self) -> EngineHealth:
        """The model's; without rules it is still a judge."""
        return await self.engine.health()

    async def close(self) -> None:
        await asyncio.gather(self.engine.close(), self.rules.close())

    async def _told(self, request: Request, first: Shortcut, deadline: Deadline) -> Completion | None:
        try:
            (told,) = await self.rules.generate(Request(id=request.id, prompt=first.rule), deadline)
        except GenerationError:
            return None
        return told


def _reply(request: Request, told: Completion, text: str, index: int) -> Completion:
    choices = request.choices
    return Completion(
        request_id=request.id,
        index=index,
        text=text,
        choice_logprobs=None if choices is None else tuple(0.0 if one == text else NOTHING for one in choices),
        mass=None if choices is None else 1.0,
        model=told.model,
        weight_version=told.weight_version,
    )
