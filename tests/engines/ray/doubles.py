"""Desks in this process, so that lines are tested without Ray; and actors that can be killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.core.types import ChatPrompt, Message, Request, SamplingParams
from assay.engines.base import Engine
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.ray.desk import Desk
from assay.engines.ray.letters import Door, Lost, News
from assay.engines.ray.line import Line


def request(text: str = "hello there", **fields: Any) -> Request:
    sampling = fields.pop("sampling", SamplingParams(max_new_tokens=8, seed=1))
    prompt = ChatPrompt(messages=(Message(role="user", content=text),))
    return Request(id=fields.pop("id", text), prompt=prompt, sampling=sampling, **fields)


def fake(**settings: Any) -> FakeEngine:
    return FakeEngine(FakeConfig(replies="echo", **settings))


@dataclass(eq=False)
class Actor:
    """A desk that can be killed: its connections break, and whoever holds on to it is told."""

    desk: Desk
    death: asyncio.Event = field(default_factory=asyncio.Event)

    async def door(self) -> Door:
        if self.death.is_set():
            raise Lost("the actor died")
        return await self.desk.door()

    async def ended(self) -> str:
        await self.death.wait()
        return "the actor died"

    def kill(self) -> None:
        self.death.set()


@dataclass(eq=False)
class Berths:
    """Launches actors with engines of ``build``; keeps them all."""

    build: Callable[[], Engine]
    actors: list[Actor] = field(default_factory=list[Actor])

    def launch(self) -> Actor:
        self.actors.append(Actor(Desk(self.build)))
        return self.actors[-1]

    async def shut(self) -> None:
        for actor in self.actors:
            await actor.desk.shut()


@asynccontextmanager
async def line_to(engine: Any, news: list[News] | None = None) -> AsyncGenerator[tuple[Actor, Line]]:
    actor = Actor(Desk(lambda: engine))
    line = await Line.to(actor, (news if news is not None else []).append)
    await line.order("start")
    try:
        yield actor, line
    finally:
        line.close()
        await actor.desk.shut()


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that will be so in a moment."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  the condition is about objects that have no events
            await asyncio.sleep(0.005)
