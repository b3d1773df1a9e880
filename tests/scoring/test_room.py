"""A limit of the reply against the context of the model: refused where it can never fit, else said once."""

from __future__ import annotations

import asyncio
import logging

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Completion, Item, Message, Request, SamplingParams
from assay.engines.base import EngineInfo
from assay.engines.catalog import build_engine, engine_config
from assay.judges import build_judge
from assay.scoring.room import Room
from assay.scoring.scorer import Scorer

INFO = EngineInfo(model="m", weight_version="1", capabilities=frozenset(), context_len=100)
REQUESTS = (Request(id="r", prompt=None, sampling=SamplingParams()),)  # type: ignore[arg-type]


def said(prompt: int) -> tuple[Completion, ...]:
    return (Completion(request_id="r", text="", prompt_tokens=prompt),)


@pytest.mark.parametrize(("most", "fits"), [(None, True), (99, True), (100, False), (4096, False)])
def test_a_limit_that_can_never_fit_is_refused(most: int | None, fits: bool) -> None:
    if fits:
        Room(most).check(INFO)
        return
    with pytest.raises(InputError, match=rf"max_new_tokens {most} can never fit: 'm' takes 100 tokens"):
        Room(most).check(INFO)


def test_a_prompt_that_leaves_too_little_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    room = Room(60)
    with caplog.at_level(logging.WARNING):
        room.look(INFO, REQUESTS, said(40))
        assert not caplog.records, "40 and 60 are 100"
        room.look(INFO, REQUESTS, said(41))
        room.look(INFO, REQUESTS, said(90))
    (record,) = caplog.records
    assert record.getMessage().startswith("max_new_tokens 60 does not fit behind a prompt of 41 tokens: 'm' takes 100")
    assert "cut off after 59 at the latest" in record.getMessage()


def test_nothing_is_said_of_a_default(caplog: pytest.LogCaptureFixture) -> None:
    Room(None).look(INFO, REQUESTS, said(99))
    assert not caplog.records


@pytest.mark.parametrize("most", [1990, 2000])
def test_the_scorer_looks_when_it_starts_and_when_it_asks(most: int, caplog: pytest.LogCaptureFixture) -> None:
    fake = build_engine(engine_config("fake", {"default": r"\boxed{7}", "context_len": 2000}))
    scorer = Scorer(fake, sampling=SamplingParams(max_new_tokens=most))
    item = Item(id="i", messages=(Message(role="user", content="word " * 20),), candidates=(Candidate(text="a"),))

    async def main() -> None:
        await scorer.start()
        try:
            await scorer.judge(build_judge("pointwise"), item, Deadline.after(10))
        finally:
            await scorer.close()

    if most == 2000:
        with pytest.raises(InputError, match="can never fit"):
            asyncio.run(main())
    else:
        asyncio.run(main())
        (record,) = caplog.records
        assert record.getMessage().startswith("max_new_tokens 1990 does not fit behind a prompt of ")
