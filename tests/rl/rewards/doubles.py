"""Samples, and judges behind fake engines: in this process, or as a service on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Message, Request
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_all
from assay.rl.rewards.base import RewardFunction
from assay.rl.sample import Reward, Sample
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.server import running
from assay.service.settings import ServiceSettings

CHAT = (Message(role="system", content="Be brief."), Message(role="user", content="2+2?"))


def sample(response: str = "Answer: 4", index: int = 0, **fields: Any) -> Sample:
    return Sample(**{"group_index": 3, "index": index, "prompt": CHAT, "label": "4", "response": response, **fields})


def asked(request: Request) -> str:
    assert isinstance(request.prompt, ChatPrompt)
    return request.prompt.messages[-1].text


def engine(reply: Callable[[str], str] | str = "1", **config: Any) -> FakeEngine:
    if isinstance(reply, str):
        return FakeEngine(FakeConfig(default=reply, **config))
    return FakeEngine(FakeConfig(**config), lambda request, _: reply(asked(request)))


@asynccontextmanager
async def serving(engines: Mapping[str, FakeEngine], **judges: Mapping[str, object]) -> AsyncGenerator[str]:
    """The URL of a service on a real socket."""
    hub = Hub(
        instances={key: Scorer(one, instance=key) for key, one in engines.items()},
        judges={judge.name: judge for judge in build_all(judges)},
    )
    async with running(create_app(hub, ServiceSettings(port=0, drain_s=1)), ServiceSettings(port=0, drain_s=1)) as url:
        yield url


async def started_score(reward: RewardFunction, *samples: Sample, seconds: float = 20.0) -> tuple[Reward, ...]:
    """Start, score, close."""
    await reward.start()
    try:
        return await reward.score(samples, Deadline.after(seconds))
    finally:
        await reward.close()


def score(reward: RewardFunction, *samples: Sample, seconds: float = 20.0) -> tuple[Reward, ...]:
    return asyncio.run(started_score(reward, *samples, seconds=seconds))
