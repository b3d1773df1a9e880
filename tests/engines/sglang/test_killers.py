"""The calls that end a server: the double dies of each, and the engine has no way to make one."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError
from assay.core.types import FailureKind
from assay.engines.sglang.engine import SGLangEngine
from assay.engines.sglang.process import ServerProcess, free_port
from assay.engines.sglang.server import Server

from .conftest import GIB, HERE, Bench, ask, chat, tokens, until, write_model

# The double on its own.

RELEASE, RESUME, UPDATE = "/release_memory_occupation", "/resume_memory_occupation", "/update_weights_from_disk"
SLOW = {"input_ids": [byte + 1 for byte in b"SLOW"], "sampling_params": {"max_new_tokens": 400}, "rid": "slow"}


@asynccontextmanager
async def bare(bench: Bench, *arguments: str, **env: str) -> AsyncGenerator[tuple[ServerProcess, Server]]:
    """The double without the engine."""
    port = free_port()
    given = {"PYTHONPATH": str(HERE / "standin"), "DOUBLE_DIR": str(bench.folder)} | env
    command = (sys.executable, "-m", "sglang.launch_server", "--model-path", str(bench.model), "--port", str(port))
    process = await ServerProcess.launch((*command, *arguments), dict(os.environ) | given, bench.log, 1)
    server = Server(port, 10)
    try:
        await until(lambda: "ready to roll" in process.tail())
        yield process, server
    finally:
        await process.kill()
        await server.close()


async def release_while_running(bench: Bench, server: Server) -> None:
    slow = asyncio.create_task(server.send("/generate", SLOW))
    await until(lambda: len(bench.calls("/generate")) == 1)
    with contextlib.suppress(GenerationError):
        await server.control(RELEASE, {})
    with contextlib.suppress(GenerationError):
        await slow


async def health_while_asleep(bench: Bench, server: Server) -> None:
    await server.control(RELEASE, {})
    await server.get("/health", 5)


async def generate_while_asleep(bench: Bench, server: Server) -> None:
    await server.control(RELEASE, {"tags": ["weights"]})
    await server.send("/generate", {"input_ids": [1], "sampling_params": {}})


async def release_twice(bench: Bench, server: Server) -> None:
    await server.control(RELEASE, {"tags": ["kv_cache"]})
    await server.control(RELEASE, {"tags": ["kv_cache"]})


async def resume_what_is_there(bench: Bench, server: Server) -> None:
    await server.control(RESUME, {"tags": ["kv_cache"]})


async def resume_without_room(bench: Bench, server: Server) -> None:
    await server.control(RELEASE, {})
    bench.cards.set(neighbour=15 * GIB)
    await server.control(RESUME, {})


async def other_shapes(bench: Bench, server: Server) -> None:
    other = write_model(bench.folder / "other", hidden_size=16)
    await server.control(UPDATE, {"model_path": str(other)})


async def unknown_token(bench: Bench, server: Server) -> None:
    await server.send("/generate", {"input_ids": [300], "sampling_params": {}})


@pytest.mark.parametrize(
    "fatal",
    [
        release_while_running,
        health_while_asleep,
        generate_while_asleep,
        release_twice,
        resume_what_is_there,
        resume_without_room,
        other_shapes,
        unknown_token,
    ],
    ids=lambda fatal: fatal.__name__,
)
def test_the_double_dies_of_it(bench: Bench, fatal: Callable[[Bench, Server], Awaitable[None]]) -> None:
    async def main() -> None:
        async with bare(bench, "--enable-memory-saver") as (process, server):
            with contextlib.suppress(GenerationError):
                await fatal(bench, server)
            await asyncio.wait_for(process.ended.wait(), 5)
            assert "Scheduler hit an exception" in process.tail()

    asyncio.run(main())


def test_the_double_serves_garbage_after_waking_without_a_backup_and_nothing_flags_it(bench: Bench) -> None:
    async def main() -> None:
        async with bare(bench, "--enable-memory-saver") as (_, server):
            body: dict[str, Any] = {"input_ids": [1, 2], "sampling_params": {}, "return_logprob": True}
            for path in (RELEASE, RESUME):
                assert (await server.control(path, {})).status == 200
            reply = await server.send("/generate", body)
            assert reply.status == 200
            logprobs = json.loads(reply.text)["meta_info"]["output_token_logprobs"]
            assert {value for value, _, _ in logprobs} == {-10.8027}

    asyncio.run(main())


def test_without_a_memory_saver_the_double_says_yes_and_frees_nothing(bench: Bench) -> None:
    async def main() -> None:
        async with bare(bench) as (_, server):
            before = bench.cards.read()[0].used
            assert (await server.control(RELEASE, {})).status == 200
            assert bench.cards.read()[0].used == before

    asyncio.run(main())


# The same through the engine.


@asynccontextmanager
async def unharmed(bench: Bench, **options: Any) -> AsyncGenerator[SGLangEngine]:
    """An engine whose server must outlive what is done inside, and answer as before."""
    async with bench.engine(**options) as engine:
        before = await ask(engine, chat(logprobs=0))
        yield engine
        await engine.wake()
        after = await ask(engine, chat(logprobs=0))
        assert (after.text, after.logprobs) == (before.text, before.logprobs)
        assert (await engine.health()).state == "ready"
        assert "exception" not in bench.log.read_text()


def test_1_sleeping_while_requests_run_drains_and_then_aborts_them(bench: Bench) -> None:
    async def main() -> None:
        async with unharmed(bench, drain_s=0.3) as engine:
            quick = asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=5), Deadline.after(10)))
            slow = asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=400), Deadline.after(10)))
            await until(lambda: len(bench.calls("/v1/chat/completions")) == 3)
            assert await engine.sleep() == 8 * GIB
            assert len((await quick)[0].text) == 5
            with pytest.raises(GenerationError, match="went to sleep before the reply was whole") as caught:
                await slow
            assert caught.value.kind is FailureKind.ASLEEP

    asyncio.run(main())


def test_1_sleeping_right_after_a_reply_waits_until_the_scheduler_is_idle(bench: Bench) -> None:
    async def main() -> None:
        async with unharmed(bench) as engine:
            for _ in range(3):
                await ask(engine, chat())
                await engine.sleep()
                await engine.wake()

    asyncio.run(main())


def test_2_the_health_of_a_sleeping_engine_is_known_without_asking_it(bench: Bench) -> None:
    async def main() -> None:
        async with unharmed(bench) as engine:
            asked = len(bench.calls("/health"))
            await engine.sleep()
            for _ in range(5):
                health = await engine.health()
                assert (health.healthy, health.state) == (True, "asleep")
            assert len(bench.calls("/health")) == asked
            assert engine._running is not None
            await engine._running.parts.server.get("/health", 5)

    asyncio.run(main())


@pytest.mark.parametrize("tag", ["weights", "kv_cache"])
def test_3_no_request_reaches_a_sleeping_server(bench: Bench, tag: Any) -> None:
    async def main() -> None:
        async with unharmed(bench) as engine:
            await engine.sleep(frozenset({tag}))
            for request in (chat(), tokens(5), replace(chat(), choices=("1", "0"))):
                with pytest.raises(GenerationError) as caught:
                    await ask(engine, request)
                assert (caught.value.kind, caught.value.retry_after) == (FailureKind.ASLEEP, 2.0)
                with pytest.raises(GenerationError, match="asleep"):
                    await anext(engine.stream(request, Deadline.after(5)))
            assert len(bench.calls("/v1/chat/completions")) == 1
            assert not bench.calls("/generate")

    asyncio.run(main())


def test_4_no_tag_is_released_or_resumed_twice(bench: Bench) -> None:
    both, weights, cache = frozenset({"weights", "kv_cache"}), frozenset({"weights"}), frozenset({"kv_cache"})

    async def main() -> None:
        async with unharmed(bench) as engine:
            assert await engine.wake() == 0
            freed = await asyncio.gather(*(engine.sleep(tags) for tags in (cache, both, weights, both)))  # type: ignore[arg-type]
            assert freed == [6 * GIB, 2 * GIB, 0, 0]
            taken = await asyncio.gather(*(engine.wake(tags) for tags in (weights, both, cache, both)))  # type: ignore[arg-type]
            assert taken == [2 * GIB, 6 * GIB, 0, 0]
            assert bench.calls(RELEASE) == [{"tags": ["kv_cache", "cuda_graph"]}, {"tags": ["weights"]}]
            assert bench.calls(RESUME) == [{"tags": ["weights"]}, {"tags": ["kv_cache", "cuda_graph"]}]

    asyncio.run(main())


def test_4_a_caller_who_leaves_does_not_leave_a_tag_half_released(bench: Bench) -> None:
    async def main() -> None:
        async with unharmed(bench) as engine:
            leaves = asyncio.create_task(engine.sleep())
            await until(lambda: len(bench.calls("/pause_generation")) == 1)
            leaves.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaves
            assert await engine.sleep() == 0, "what he began was done"
            assert len(bench.calls(RELEASE)) == 1

    asyncio.run(main())


def test_5_an_engine_whose_memory_is_taken_sleeps_on_and_says_what_is_missing(bench: Bench) -> None:
    async def main() -> None:
        async with unharmed(bench) as engine:
            await engine.sleep()
            bench.cards.set(neighbour=12 * GIB)
            with pytest.raises(GenerationError, match=r"GPU 0 has 7.5 GiB free and waking takes 8.2") as caught:
                await engine.wake()
            assert caught.value.kind is FailureKind.ASLEEP
            assert not bench.calls(RESUME)
            assert (await engine.health()).state == "asleep"
            bench.cards.set(neighbour=0)
            assert await engine.wake() == 8 * GIB

    asyncio.run(main())


def test_6_weights_of_other_shapes_never_reach_the_server(bench: Bench, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", hidden_size=16)

    async def main() -> None:
        async with unharmed(bench) as engine:
            for source in (str(other), str(tmp_path / "nowhere")):
                with pytest.raises(InputError):
                    await engine.update_weights(source, "v2")
            assert not bench.calls(UPDATE)
            assert engine.info.weight_version != "v2"

    asyncio.run(main())


def test_7_ids_beyond_the_vocabulary_never_reach_the_server(bench: Bench) -> None:
    decoder = {"added_tokens_decoder": {"300": {"content": "[PAD]"}}}
    (bench.model / "tokenizer_config.json").write_text(json.dumps(decoder))

    async def main() -> None:
        async with unharmed(bench) as engine:
            for request in (tokens(5, 300), tokens(-1), tokens(), chat("so [PAD] it is")):
                for asked in (request, replace(request, choices=("1", "0"))):
                    with pytest.raises(GenerationError) as caught:
                        await ask(engine, asked)
                    assert caught.value.kind is FailureKind.BAD_REQUEST
            assert not bench.calls("/generate")

    asyncio.run(main())
