"""A server that dies, stops or hangs: noticed at once, said, and replaced."""

import asyncio
import logging
import os
import signal
import time

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.sglang.engine import SGLangEngine

from .conftest import Bench, alive, ask, chat, until


def pids_of(engine: SGLangEngine) -> tuple[int, int]:
    """The server's own process and its scheduler."""
    assert engine._running is not None
    server, scheduler = sorted(engine._running.parts.process.pids)
    return server, scheduler


@pytest.mark.parametrize("part", [0, 1], ids=["server", "scheduler"])
def test_a_death_is_noticed_within_two_seconds_and_a_new_start_recovers(
    bench: Bench, part: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "assay")

    async def main() -> None:
        async with bench.engine() as engine:
            pids = pids_of(engine)
            lost = asyncio.create_task(engine.lost())
            running = [
                asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=400), Deadline.after(20)))
                for _ in range(3)
            ]
            await until(lambda: len(bench.calls("/v1/chat/completions")) == 3)
            os.kill(pids[part], signal.SIGKILL)
            killed = time.monotonic()
            found = await asyncio.gather(*running, return_exceptions=True)
            assert time.monotonic() - killed < 2.0, "whoever waits is told at once, not when the port closes"
            assert [getattr(one, "kind", None) for one in found] == [FailureKind.ENGINE_ERROR] * 3
            assert await asyncio.wait_for(lost, 2.0 - (time.monotonic() - killed))
            health = await engine.health()
            assert (health.healthy, health.state, health.error) == (False, "dead", lost.result())
            with pytest.raises(GenerationError, match="SGLang died"):
                await ask(engine, chat())
            with pytest.raises(GenerationError, match="is lost"):
                await engine.sleep()

            await engine.start()
            assert (await ask(engine, chat())).finish_reason == "stop"
            assert (await engine.health()).healthy
            assert not any(alive(pid) for pid in pids)

    asyncio.run(main())
    assert "The end of its log" in caplog.text


def test_a_server_that_is_stopped_is_not_healthy_until_it_goes_on(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as engine:
            server, _ = pids_of(engine)
            os.kill(server, signal.SIGSTOP)
            await asyncio.sleep(0.02)
            watch = engine._running.watch if engine._running else None
            assert watch is not None
            assert await until(lambda: watch.state == "stopped") < 2.0
            assert not (await engine.health()).healthy
            os.kill(server, signal.SIGCONT)
            await until(lambda: watch.state == "ready")
            os.kill(server, signal.SIGSTOP)
            await until(lambda: watch.state == "stopped")
            engine.kill()
            await until(lambda: watch.state == "dead")

    asyncio.run(main())


def test_a_scheduler_that_says_nothing_is_hung_though_the_port_answers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.engines.sglang.watch.HEARTBEAT_S", 0.1)
    # As if it hung in the driver: not stopped, and silent.
    monkeypatch.setattr("assay.engines.sglang.process.find_fault", lambda pids: None)

    async def main() -> None:
        async with bench.engine(hang_s=0.6, stop_s=0.2) as engine:
            assert engine._running is not None
            watch = engine._running.watch
            await until(lambda: watch.told.get("token_capacity") == 1000)
            assert watch.state == "ready"
            os.kill(pids_of(engine)[1], signal.SIGSTOP)
            await until(lambda: watch.state == "hung")
            health = await engine.health()
            assert not health.healthy
            assert "has said nothing for" in (health.error or "")

    asyncio.run(main())
