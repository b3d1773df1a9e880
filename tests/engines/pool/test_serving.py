"""Requests through a pool: routing, failures, retries, streams, waiting, second copies, overload."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import FailureKind
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine

from .doubles import QUICK, Crew, Hosted, Puppet, Streamer, ask, lost, pool_of, request, soon, until


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def kind_of(error: BaseException | object) -> FailureKind:
    assert isinstance(error, GenerationError), repr(error)
    return error.kind


def test_it_is_the_sum_of_its_members() -> None:
    async def go() -> None:
        async with pool_of(Crew(Puppet), size=3) as pool:
            info = pool.info
            assert (info.model, info.weight_version, info.context_len) == ("puppet", "v1", 100)
            assert (info.num_engines, info.num_gpus) == (3, 6)
            health = await pool.health()
            assert (health.healthy, health.state, health.error) == (True, "ready", None)

    run(go())


def test_load_is_spread() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=2) as pool:
            gate = crew[0].gate = crew[1].gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}")) for n in range(10)]
            await until(lambda: len(crew[0].asked) + len(crew[1].asked) == 10)
            assert len(crew[0].asked) == len(crew[1].asked) == 5
            gate.set()
            assert len(set(await asyncio.gather(*tasks))) == 10

    run(go())


def test_a_failure_of_the_engine_is_tried_elsewhere() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew) as pool:
            crew[0].error = lost()
            texts = [await ask(pool, f"r{n}") for n in range(8)]
            assert {text[0] for text in texts} == {"1"}
            assert pool.counters.retries == len(crew[0].asked) > 0
            assert pool.counters.deaths == 0  # it says that it is well

    run(go())


@pytest.mark.parametrize("kind", [FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW, FailureKind.TIMEOUT])
def test_a_failure_of_the_request_is_not_tried_again(kind: FailureKind) -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew) as pool:
            crew[0].error = crew[1].error = GenerationError(kind, "no")
            with pytest.raises(GenerationError) as caught:
                await ask(pool)
            assert caught.value.kind is kind
            assert len(crew[0].asked) + len(crew[1].asked) == 1

    run(go())


def test_attempts_are_bounded_and_the_last_error_is_told() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, attempts=3) as pool:
            crew[0].error = crew[1].error = lost()
            with pytest.raises(GenerationError, match="connection was closed"):
                await ask(pool)
            assert len(crew[0].asked) + len(crew[1].asked) == 3

    run(go())


def test_an_aborted_text_is_no_answer() -> None:
    class Aborting(Puppet):
        def _said(self, request_: Any, index: int, text: str) -> Any:
            said = super()._said(request_, index, text)
            object.__setattr__(said, "finish_reason", "abort" if self.index == 0 and text != "fine" else "stop")
            return said

    async def go() -> None:
        async with pool_of(Crew(Aborting)) as pool:
            assert {(await ask(pool, f"r{n}"))[0] for n in range(6)} == {"1"}

    run(go())


def test_a_full_engine_sends_on_and_two_full_engines_refuse() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        full = GenerationError(FailureKind.OVERLOADED, "full", retry_after=3.0)
        async with pool_of(crew) as pool:
            crew[0].error = full
            assert {(await ask(pool, f"r{n}"))[0] for n in range(6)} == {"1"}
            crew[1].error = full
            with pytest.raises(GenerationError) as caught:
                await ask(pool)
            assert (caught.value.kind, caught.value.retry_after) == (FailureKind.OVERLOADED, 3.0)

    run(go())


def test_what_a_dead_engine_worked_on_is_done_elsewhere() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew) as pool:
            first = crew[0]
            first.gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}")) for n in range(10)]
            await until(lambda: first.running > 0)
            first.die("was killed by SIGKILL")
            texts = await asyncio.gather(*tasks)
            assert sorted(texts, key=lambda t: int(t[4:])) == [f"1: r{n}" for n in range(10)]
            await until(lambda: pool.members[0].life.admits)
            assert crew[0] is not first
            assert first.closed
            assert pool.counters.rebuilds == 1
            assert (await pool.health()).state == "ready"

    run(go())


def test_health_says_at_once_that_one_is_dead_and_that_all_are() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, rebuild_pause_s=60.0, rebuild_pause_max_s=60.0) as pool:
            for member in pool.members:
                member._backoff.pause()  # so that the next one is long
            crew[0].die("was killed by SIGKILL")
            await until(lambda: not pool.members[0].life.admits)
            health = await pool.health()
            assert (health.healthy, health.state) == (True, "degraded")
            assert health.error == "replica 0 is dead (was killed by SIGKILL)"
            crew[1].die("was killed by SIGKILL")
            await until(lambda: not pool.members[1].life.admits)
            health = await pool.health()
            assert (health.healthy, health.state) == (False, "dead")

    run(go())


def test_the_requests_of_a_single_engine_wait_until_it_is_rebuilt() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, size=1) as pool:
            crew[0].gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}")) for n in range(5)]
            await until(lambda: crew[0].running == 5)
            crew[0].die("was killed")
            assert await asyncio.gather(*tasks) == [f"0: r{n}" for n in range(5)]
            assert len(crew.built[0]) == 2

    run(go())


def test_an_engine_that_cannot_be_rebuilt_is_not_waited_for() -> None:
    def build(index: int) -> Hosted:
        first = not crew.built or len(crew.built[index]) == 0
        return Hosted(index, start_error=None if first else StartError("no memory"))

    crew = Crew(build)

    async def go() -> None:
        async with pool_of(crew, size=1) as pool:
            crew[0].gate = asyncio.Event()
            task = soon(ask(pool))
            await until(lambda: crew[0].running == 1)
            crew[0].die("was killed")
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
            assert kind_of(outcome) is FailureKind.ENGINE_ERROR
            assert "no memory" in str(outcome)
            await until(lambda: len(crew.built[0]) > 3)  # it is still tried

    run(go())


def test_a_deadline_holds_while_nothing_serves() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, size=1, rebuild_pause_s=60.0, rebuild_pause_max_s=60.0) as pool:
            pool.members[0]._backoff.pause()
            crew[0].die("was killed")
            await until(lambda: not pool.members[0].life.admits)
            with pytest.raises(GenerationError, match="replica 0 is dead") as caught:
                await ask(pool, seconds=0.05)
            assert caught.value.kind is FailureKind.TIMEOUT

    run(go())


def test_an_engine_that_is_unwell_is_rebuilt() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew) as pool:
            first = crew[0]
            first.well = False
            await until(lambda: len(crew.built[0]) == 2 and pool.members[0].life.admits)
            assert first.closed

    run(go())


def test_an_engine_that_hangs_is_passed_over_then_killed() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, hang_s=0.3) as pool:
            first = crew[0]
            first.gate, first.mute = asyncio.Event(), True
            await until(lambda: pool.members[0].silent)
            assert {(await ask(pool, f"r{n}"))[0] for n in range(6)} == {"1"}
            health = await pool.health()
            assert (health.state, health.error) == ("degraded", "replica 0 is silent")
            await until(lambda: len(crew.built[0]) == 2 and pool.members[0].life.admits)
            assert first.kills == 1

    run(go())


def test_what_hangs_in_an_engine_is_done_elsewhere() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew) as pool:
            first = crew[0]
            first.gate = asyncio.Event()  # it will never open
            tasks = [soon(ask(pool, f"r{n}")) for n in range(6)]
            await until(lambda: first.running == 3)
            first.mute = True
            texts = await asyncio.gather(*tasks)
            assert len(set(texts)) == 6
            assert first.aborted == 3

    run(go())


def test_a_busy_engine_that_answers_requests_does_not_hang() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=1, hang_s=0.4) as pool:
            crew[0].mute = True
            for n in range(300):
                await ask(pool, f"r{n}")
                await asyncio.sleep(0.002)
            assert pool.counters.deaths == 0

    run(go())


def test_an_engine_that_fails_everything_and_calls_itself_well_is_rebuilt() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, sick_after=5) as pool:
            first = crew[0]
            first.error = lost()
            for n in range(40):
                assert (await ask(pool, f"r{n}")).endswith(f"r{n}")
            assert len(first.asked) == 5
            assert len(crew.built[0]) == 2

    run(go())


def test_requests_that_fail_together_are_one_error() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, sick_after=3) as pool:
            first = crew[0]
            first.gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}")) for n in range(40)]
            await until(lambda: first.running == 20)
            first.error = lost()
            first.gate.set()
            await asyncio.gather(*tasks)
            first.error = None
            await ask(pool)
            assert pool.counters.deaths == 0

    run(go())


def test_a_start_without_any_engine_fails_with_its_error() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Puppet(index, start_error=InputError("no model 'x'")))
        with pytest.raises(InputError, match="no model 'x'"):
            await PoolEngine(PoolConfig(size=2, **QUICK), crew).start()
        assert all(engine.closed for engines in crew.built for engine in engines)

    run(go())


def test_a_start_with_some_engines_serves_and_tries_the_others_again() -> None:
    def build(index: int) -> Puppet:
        first = len(crew.built) <= index or len(crew.built[index]) == 0
        return Puppet(index, start_error=StartError("port in use") if index == 1 and first else None)

    crew = Crew(build)

    async def go() -> None:
        async with pool_of(crew) as pool:
            assert (await ask(pool)).endswith(": r")
            await until(lambda: pool.members[1].life.admits)
            assert len(crew.built[1]) == 2

    run(go())


def test_who_leaves_aborts_the_generation() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=1) as pool:
            crew[0].gate = asyncio.Event()
            task = soon(ask(pool))
            await until(lambda: crew[0].running == 1)
            task.cancel()
            await until(lambda: crew[0].running == 0)
            assert crew[0].aborted == 1
            assert pool.waiting() == ()
            assert pool.members[0].owed == 0

    run(go())


def test_a_stream_comes_from_one_engine_and_moves_only_before_its_first_delta() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Streamer(index, fails_after=0 if index == 0 else None))
        async with pool_of(crew) as pool:
            for n in range(6):
                texts = [delta.text async for delta in pool.stream(request(f"r{n}"), Deadline.after(5))]
                assert texts == ["1.0 ", "1.1 ", "1.2 "]
            assert len(crew[0].asked) > 0
            crew[1].fails_after = 2
            got: list[str] = []

            async def collect() -> None:
                async for delta in pool.stream(request("cut"), Deadline.after(5)):
                    got.append(delta.text)

            with pytest.raises(GenerationError):
                await collect()
            assert got == ["1.0 ", "1.1 "]

    run(go())


def test_an_engine_that_does_not_stream_hands_out_whole_texts() -> None:
    async def go() -> None:
        async with pool_of(Crew(Puppet), size=1) as pool:
            deltas = [delta async for delta in pool.stream(request("r", n=2), Deadline.after(5))]
            assert [(d.index, d.text, d.finish_reason) for d in deltas] == [(0, "0: r", "stop"), (1, "0: r", "stop")]

    run(go())


def test_a_stream_that_is_left_is_aborted() -> None:
    async def go() -> None:
        crew = Crew(Streamer)
        async with pool_of(crew, size=1) as pool:
            deltas = pool.stream(request(), Deadline.after(5))
            await anext(deltas)
            await deltas.aclose()
            assert not pool.members[0].flights

    run(go())


def test_it_knows_who_waits_for_what_since_when(caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=1, slow_s=0.05) as pool:
            gate = crew[0].gate = asyncio.Event()
            tasks = [soon(ask(pool, "first")), soon(ask(pool, "second"))]
            await until(lambda: "second" in caplog.text)
            first, second = pool.waiting()
            assert (first.request_id, first.replica, second.request_id) == ("first", 0, "second")
            assert first.waited_s >= second.waited_s >= 0.05
            assert first.tokens > 0
            gate.set()
            await asyncio.gather(*tasks)
            assert pool.waiting() == ()

    with caplog.at_level(logging.WARNING):
        run(go())
    assert caplog.text.count("'first'") == 1


def test_beyond_the_token_budget_requests_are_refused_at_once() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=1, token_budget=120) as pool:
            gate = crew[0].gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}", text="x" * 160)) for n in range(2)]  # about 51 tokens each
            await until(lambda: crew[0].running == 2)
            with pytest.raises(GenerationError, match="over the budget of 120") as caught:
                await ask(pool, "more", text="x" * 160)
            assert caught.value.kind is FailureKind.OVERLOADED
            assert caught.value.retry_after is not None
            gate.set()
            await asyncio.gather(*tasks)
            crew[0].gate = None
            assert await ask(pool, "more", text="x" * 160) == "0: more"

    run(go())


def test_a_second_copy_of_a_slow_request_wins_and_the_first_is_aborted() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, hedge_quantile=0.9, hedge_share=0.5, hang_s=5.0) as pool:
            for n in range(60):
                await ask(pool, f"r{n}")
            crew[0].gate = asyncio.Event()  # it will never open
            texts = [await ask(pool, f"s{n}") for n in range(6)]
            assert texts == [f"1: s{n}" for n in range(6)]
            hedging = pool._dispatch.hedging
            assert hedging.sent >= hedging.won > 0
            await until(lambda: crew[0].running == 0)
            # On a loaded machine a few of the first sixty are hedged too, and won without anything to abort.
            assert 0 < crew[0].aborted <= hedging.won
            seeds = {request_.sampling.seed for request_ in crew[1].asked}
            assert seeds == {3}

    run(go())


def test_closing_ends_what_runs_and_refuses_what_comes() -> None:
    async def go() -> None:
        crew = Crew(Puppet)
        async with pool_of(crew, size=1) as pool:
            crew[0].gate = asyncio.Event()
            task = soon(ask(pool))
            await until(lambda: crew[0].running == 1)
            await pool.close()
            await pool.close()
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
            assert kind_of(outcome) is FailureKind.ENGINE_ERROR
            assert crew[0].closed
            with pytest.raises(GenerationError):
                await ask(pool)

    run(go())
