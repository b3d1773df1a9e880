"""From the GenRM flags to engines: every setting is obeyed or refused by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Message, Request
from assay.engines.base import Engine
from assay.engines.hosted.engine import HostedEngine
from assay.engines.instances import Kind, instance_engine
from assay.engines.openai.engine import OpenAIEngine
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.sglang.engine import SGLangEngine
from assay.wire.genrm import GenRMConfig, InstanceSpec


def spec(**instance: Any) -> InstanceSpec:
    config = GenRMConfig(genrm_instances={"a": {"model_path": "m", "num_gpus": 1, **instance}})  # type: ignore[dict-item]
    return config.specs()["a"]


def build(kind: Kind, asked: InstanceSpec, *, first_gpu: int = 0, processes: bool = False, **options: Any) -> Engine:
    return instance_engine(asked, kind, options, first_gpu=first_gpu, processes=processes, pool=PoolConfig(canary=None))


def test_replicas_take_their_gpus_in_order() -> None:
    pool = build("sglang", spec(num_gpus=4, num_gpus_per_engine=2, engine_config={"ep_size": 2}), first_gpu=4)
    assert isinstance(pool, PoolEngine)
    engines = [member.engine for member in pool.members]
    assert all(isinstance(engine, SGLangEngine) for engine in engines)
    assert [engine.config.gpu_ids for engine in engines] == [(4, 5), (6, 7)]  # type: ignore[attr-defined]
    assert engines[0].config.ep_size == 2  # type: ignore[attr-defined]
    assert engines[0].config.max_context_len == 8192  # type: ignore[attr-defined]


def test_gpus_are_counted_among_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,GPU-a1")
    pool = build("sglang", spec(num_gpus=2), first_gpu=1)
    assert isinstance(pool, PoolEngine)
    assert [member.engine.config.gpu_ids for member in pool.members] == [(5,), ("GPU-a1",)]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="GPU 3 is asked for, and CUDA_VISIBLE_DEVICES='3,5,GPU-a1' shows 3"):
        build("sglang", spec(num_gpus=1), first_gpu=3)


def test_engines_in_processes_take_the_visible_gpus_and_none_where_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(visible: str) -> list[str]:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        pool = build("fake", spec(num_gpus=2), processes=True)
        assert isinstance(pool, PoolEngine)
        return [member.engine.config.environment["CUDA_VISIBLE_DEVICES"] for member in pool.members]  # type: ignore[attr-defined]

    assert shown("6,2") == ["6", "2"]
    assert shown("") == ["", ""]


def test_an_engine_argument_of_the_instance_wins_over_that_of_all() -> None:
    pool = build("fake", spec(engine_config={"default": "own"}), default="all")
    assert isinstance(pool, PoolEngine)

    async def ask() -> str:
        await pool.start()
        request = Request(id="r", prompt=ChatPrompt(messages=(Message(role="user", content="x"),)))
        (answer,) = await pool.generate(request, Deadline.after(5))
        await pool.close()
        return answer.text

    assert asyncio.run(ask()) == "own"


def test_several_replicas_live_in_processes_and_one_may() -> None:
    several = build("fake", spec(num_gpus=2))
    alone = build("fake", spec(), processes=True)
    assert isinstance(several, PoolEngine)
    assert isinstance(alone, PoolEngine)
    assert all(isinstance(member.engine, HostedEngine) for member in (*several.members, *alone.members))


def test_the_context_length_reaches_every_engine() -> None:
    asked = spec(engine_config={"max_context_len": 1234})
    openai = build("openai", asked, base_url="http://host/v1")
    assert isinstance(openai, OpenAIEngine)
    assert openai.info.context_len == 1234
    fake = build("fake", asked)
    assert fake.info.context_len == 1234


@pytest.mark.parametrize(
    ("kind", "engine_config", "named"),
    [
        ("embedded", {"dp_size": 2}, "dp_size=2 needs --engine sglang"),
        ("embedded", {"mem_fraction_static": 0.3}, "mem_fraction_static=0.3 needs --engine sglang"),
        ("embedded", {"max_contxt_len": 5}, "max_contxt_len"),
        ("fake", {"pp_size": 4}, "pp_size=4"),
    ],
)
def test_what_an_engine_cannot_honour_is_refused_by_name(kind: Kind, engine_config: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        build(kind, spec(engine_config=engine_config))
