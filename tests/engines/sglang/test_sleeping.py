"""Sleep, wake and new weights: the order of the calls, what is measured, and what happens when it goes wrong."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, StartError
from assay.core.types import FailureKind
from assay.engines.base import Tag
from assay.engines.sglang.engine import SGLangEngine

from .conftest import GIB, Bench, ask, chat, until, write_model

WEIGHTS: frozenset[Tag] = frozenset({"weights"})
CACHE: frozenset[Tag] = frozenset({"kv_cache"})
RELEASE, RESUME, UPDATE = "/release_memory_occupation", "/resume_memory_occupation", "/update_weights_from_disk"


def test_the_order_of_a_sleep_and_a_wake(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as engine:
            held = await engine.held_bytes()
            assert await engine.sleep() == 8 * GIB
            assert await engine.held_bytes() == (held or 0) - 8 * GIB
            assert await engine.wake() == 8 * GIB
            assert await engine.held_bytes() == held
            quiet = ["/pause_generation", "/flush_cache", RELEASE]
            assert bench.control_calls() == [*quiet, RESUME, "/continue_generation"]
            assert not bench.calls("/abort_request")

    asyncio.run(main())


def test_without_a_backup_weights_are_read_again_before_anything_is_answered(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(weights_cpu_backup=False) as engine:
            before = await ask(engine, chat(logprobs=0))
            await engine.sleep()
            assert await engine.wake(WEIGHTS) == 2 * GIB
            with pytest.raises(GenerationError, match="asleep"):
                await ask(engine, chat())
            await engine.wake(CACHE)
            after = await ask(engine, chat(logprobs=0))
            assert (after.text, after.logprobs) == (before.text, before.logprobs)
            assert bench.calls(UPDATE) == [{"model_path": str(bench.model), "weight_version": before.weight_version}]
            assert bench.control_calls()[-4:] == [RESUME, UPDATE, RESUME, "/continue_generation"]

    asyncio.run(main())


def test_new_weights_are_those_that_are_read_again(bench: Bench, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", marker=3)

    async def main() -> None:
        async with bench.engine(weights_cpu_backup=False) as engine:
            old = await ask(engine, chat())
            await engine.update_weights(str(other), "v2")
            new = await ask(engine, chat())
            assert new.text != old.text
            assert new.weight_version == engine.info.weight_version == "v2"
            await engine.sleep()
            await engine.wake()
            again = await ask(engine, chat())
            assert (again.text, again.weight_version) == (new.text, "v2")
            await engine.reload()
            assert (await ask(engine, chat())).text == new.text

    asyncio.run(main())


def test_requests_wait_for_new_weights_and_none_mixes_two(bench: Bench, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", marker=3)

    async def main() -> None:
        async with bench.engine() as engine:
            first = engine.info.weight_version
            old = asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=10), Deadline.after(10)))
            await until(lambda: len(bench.calls("/v1/chat/completions")) == 1)
            update = asyncio.create_task(engine.update_weights(str(other), "v2"))
            await until(lambda: engine._gate.state == "held")
            new = asyncio.create_task(engine.generate(chat(), Deadline.after(10)))
            late = asyncio.create_task(engine.generate(chat(), Deadline.after(0.03)))
            with pytest.raises(GenerationError, match="was taking new weights until the deadline") as caught:
                await late
            assert caught.value.kind is FailureKind.TIMEOUT
            await update
            assert (await old)[0].weight_version == first
            assert (await new)[0].weight_version == "v2"

    asyncio.run(main())


def test_weights_that_are_released_take_no_others(bench: Bench, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", marker=3)

    async def main() -> None:
        async with bench.engine() as engine:
            await engine.sleep()
            with pytest.raises(GenerationError, match="wake the engine before it takes new ones"):
                await engine.update_weights(str(other), "v2")
            await engine.wake(WEIGHTS)
            await engine.update_weights(str(other), "v2")
            with pytest.raises(GenerationError, match="asleep"):
                await ask(engine, chat())
            await engine.wake()
            assert (await ask(engine, chat())).weight_version == "v2"

    asyncio.run(main())


def test_an_engine_that_cannot_give_memory_back_says_so(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(memory_saver=False) as engine:
            with pytest.raises(GenerationError, match="memory_saver=false") as caught:
                await engine.sleep()
            assert caught.value.kind is FailureKind.BAD_REQUEST
            assert (await ask(engine, chat())).text

    asyncio.run(main())


def test_a_release_that_frees_nothing_is_not_believed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engines.sglang.sleeping._FALL_S", 0.1)

    async def main() -> None:
        async with bench.engine(env={"DOUBLE_KEEPS_MEMORY": "1"}) as engine:
            with pytest.raises(GenerationError, match=r"released memory, and 0.00 of about 8.00 GiB") as caught:
                await engine.sleep()
            assert caught.value.kind is FailureKind.ENGINE_ERROR
            assert (await engine.health()).state == "asleep"

    asyncio.run(main())


def test_where_the_cards_cannot_be_read_the_servers_own_figures_count(bench: Bench) -> None:
    class Blind:
        def read(self) -> tuple[()]:
            return ()

    async def main() -> None:
        engine = SGLangEngine(bench.config(mem_fraction_static=0.5), Blind())
        await engine.start()
        try:
            assert "'mem_fraction_static': 0.5," in bench.log.read_text()
            assert await engine.held_bytes() is None
            assert await engine.sleep(CACHE) == 6 * GIB
            assert await engine.wake() == 6 * GIB
        finally:
            await engine.close()

    asyncio.run(main())


def test_a_control_call_whose_effect_is_unknown_loses_the_engine_and_a_start_brings_it_back(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(control_timeout_s=0.3, stop_s=0.3) as engine:
            assert engine._running is not None
            server = min(engine._running.parts.process.pids)
            sleeper: Any = engine._running.sleeper
            real = sleeper._control

            async def stopped(path: str, body: Any, **how: bool) -> Any:
                if path == RELEASE:
                    os.kill(server, signal.SIGSTOP)
                return await real(path, body, **how)

            sleeper._control = stopped
            with pytest.raises(GenerationError, match=r"did not answer /release_memory_occupation within 0.3 s"):
                await engine.sleep()
            os.kill(server, signal.SIGCONT)
            await until(lambda: engine._running is not None and engine._running.watch.state == "ready")
            health = await engine.health()
            assert (health.healthy, health.state) == (False, "lost")
            for attempt in (engine.sleep, engine.wake):
                with pytest.raises(GenerationError, match="is lost and must be started anew"):
                    await attempt()
            with pytest.raises(GenerationError, match="is lost"):
                await ask(engine, chat())
            assert len(bench.calls(RESUME)) == 0
            await engine.start()
            assert (await ask(engine, chat())).text

    asyncio.run(main())


def test_a_sleep_that_cannot_begin_leaves_the_engine_awake(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engines.sglang.sleeping._IDLE_S", 0.2)

    async def main() -> None:
        async with bench.engine(drain_s=0.1) as engine:
            assert engine._running is not None
            server = engine._running.parts.server
            real = server.control

            async def busy(path: str, body: Any) -> Any:
                reply = await real(path, body)
                return type(reply)(400, "Flush cache failed", path) if path == "/flush_cache" else reply

            server.control = busy  # type: ignore[method-assign]
            with pytest.raises(GenerationError, match="still busy"):
                await engine.sleep()
            assert bench.control_calls()[-1] == "/continue_generation"
            assert (await engine.health()).state == "ready"
            assert (await ask(engine, chat())).text

    asyncio.run(main())


def test_weights_that_cannot_be_read_again_are_not_served(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(weights_cpu_backup=False) as engine:
            await engine.sleep()
            (bench.model / "model.safetensors").unlink()
            with pytest.raises(GenerationError, match="could not be read again after waking"):
                await engine.wake()
            assert (await engine.health()).state == "lost"
            with pytest.raises(GenerationError, match="is lost"):
                await ask(engine, chat())

    asyncio.run(main())


def test_weights_that_the_server_does_not_take_leave_the_old_ones(bench: Bench, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", marker=3)
    (other / "model.safetensors").rename(other / "part.safetensors")

    async def main() -> None:
        async with bench.engine() as engine:
            old = await ask(engine, chat())
            with pytest.raises(StartError, match=r"did not take the weights.*Failed to get weights iterator"):
                await engine.update_weights(str(other), "v2")
            assert await ask(engine, chat()) == old

    asyncio.run(main())
