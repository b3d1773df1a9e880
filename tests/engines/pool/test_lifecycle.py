"""A pool that sleeps, wakes, takes weights, and what it does about members that come back as somebody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from assay.core.errors import GenerationError, InputError
from assay.core.types import FailureKind
from assay.engines.base import Tag
from assay.engines.lifecycle import ALL_TAGS, State

from .doubles import GIB, Crew, Hosted, Puppet, Reloader, Sleeper, Weighed, ask, lost, pool_of, soon, until

WEIGHTS: frozenset[Tag] = frozenset({"weights"})
KV: frozenset[Tag] = frozenset({"kv_cache"})


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_sleep_and_wake_go_tag_by_tag_and_end_with_the_canary() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew) as pool:
            assert crew[0].calls == ["start", *["canary"] * 3]
            assert await pool.sleep() == 4 * GIB
            assert (await pool.health()).state == "asleep"
            assert await pool.wake() == 4 * GIB
            assert crew[0].calls[4:] == ["sleep kv_cache,weights", "wake weights", "wake kv_cache", *["canary"] * 3]
            assert await ask(pool)
            assert pool.counters.wakes == pool.counters.sleeps == 1

    run(go())


def test_tags_can_come_back_one_after_the_other() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew, size=1) as pool:
            assert await pool.sleep(ALL_TAGS) == 2 * GIB
            assert await pool.sleep(KV) == 0  # it sleeps already
            assert await pool.wake(WEIGHTS) == GIB
            health = await pool.health()
            assert (health.healthy, health.state) == (True, "asleep")
            assert await pool.wake(WEIGHTS) == 0
            assert await pool.wake(KV) == GIB
            assert crew[0].calls.count("wake weights") == 1
            assert await ask(pool)

    run(go())


def test_nothing_is_forwarded_to_a_sleeping_engine() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew) as pool:
            await pool.sleep()
            with pytest.raises(GenerationError) as caught:
                await ask(pool)
            assert caught.value.kind is FailureKind.ASLEEP
            assert caught.value.retry_after is not None
            assert not crew[0].asked

    run(go())


def test_what_runs_is_finished_before_the_memory_goes() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew, size=1) as pool:
            gate = crew[0].gate = asyncio.Event()
            running = soon(ask(pool, "running"))
            await until(lambda: crew[0].running == 1)
            sleep = soon(pool.sleep())
            await until(lambda: pool.members[0].life.state is State.DRAINING)
            assert (await pool.health()).state == "draining"
            with pytest.raises(GenerationError):
                await ask(pool, "late")
            assert not sleep.done()
            gate.set()
            assert await running == "0: running"
            await sleep

    run(go())


def test_what_still_runs_at_the_drain_deadline_is_aborted() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew, size=1, drain_s=0.03) as pool:
            crew[0].gate = asyncio.Event()
            running = soon(ask(pool))
            await until(lambda: crew[0].running == 1)
            assert await pool.sleep() == 2 * GIB
            (outcome,) = await asyncio.gather(running, return_exceptions=True)
            assert isinstance(outcome, GenerationError)
            assert outcome.kind is FailureKind.ASLEEP
            assert crew[0].aborted == 1

    run(go())


@pytest.mark.parametrize("crew_of", [Sleeper, Hosted])
def test_drift_after_a_wake_is_quarantined_where_nothing_can_be_reloaded(
    crew_of: type[Sleeper], caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        crew = Crew(lambda index: crew_of(index, after_wake=-9.0 if index == 0 else None))
        async with pool_of(crew) as pool:
            await pool.sleep()
            await pool.wake()
            assert pool.members[0].life.state is State.QUARANTINED
            assert {(await ask(pool, f"r{n}"))[0] for n in range(8)} == {"1"}
            health = await pool.health()
            assert (health.healthy, health.state) == (True, "degraded")
            assert health.error is not None
            assert "quarantined (canary: " in health.error
            assert "8.9 nats" in health.error
            assert pool.counters.quarantines == 1

    with caplog.at_level(logging.ERROR):
        run(go())
    assert "replica 0 is in quarantine" in caplog.text


def test_a_pool_that_woke_as_somebody_else_says_so_and_serves_nothing() -> None:
    async def go() -> None:
        async with pool_of(Crew(lambda index: Sleeper(index, after_wake=-9.0))) as pool:
            await pool.sleep()
            with pytest.raises(GenerationError, match="replica 1 is quarantined"):
                await pool.wake()
            health = await pool.health()
            assert (health.healthy, health.state) == (False, "quarantined")
            with pytest.raises(GenerationError) as caught:
                await ask(pool)
            assert caught.value.kind is FailureKind.ENGINE_ERROR

    run(go())


def test_drift_is_mended_by_reading_the_weights_again() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Reloader(index, after_wake=-9.0))
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            await pool.wake()
            assert crew[0].calls[-7:] == ["canary"] * 3 + ["reload"] + ["canary"] * 3
            assert await ask(pool) == "0: r"
            assert (pool.counters.drifts, pool.counters.quarantines) == (1, 0)

    run(go())


def test_drift_that_a_reload_does_not_mend_is_quarantined() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Reloader(index, after_wake=-9.0, after_reload=-8.0))
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            with pytest.raises(GenerationError, match="quarantined"):
                await pool.wake()
            assert crew[0].calls.count("reload") == 1

    run(go())


def test_the_next_sleep_ends_a_quarantined_engine_and_the_wake_builds_another() -> None:
    drifting = iter([-9.0, None])

    async def go() -> None:
        crew = Crew(lambda index: Sleeper(index, after_wake=next(drifting)))
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            with pytest.raises(GenerationError):
                await pool.wake()
            await pool.sleep()
            assert crew[0].closed
            assert len(crew.built[0]) == 1
            await pool.wake()
            assert len(crew.built[0]) == 2
            assert await ask(pool) == "0: r"

    run(go())


def test_a_release_that_failed_is_not_repeated() -> None:
    """A 502 does not say whether the memory is free: the engine is ended, which frees it, and built anew later."""

    async def go() -> None:
        crew = Crew(lambda index: Hosted(index, sleep_error=lost() if index == 0 else None))
        async with pool_of(crew) as pool:
            first = crew[0]
            assert await pool.sleep() == 2 * GIB
            assert first.calls.count("sleep kv_cache,weights") == 1
            assert (first.kills, first.closed) == (1, True)
            health = await pool.health()
            assert (health.healthy, health.state) == (True, "asleep")
            assert health.error is not None
            assert "replica 0 is dead" in health.error
            crew._build = Hosted
            await pool.wake()
            await until(lambda: all(member.life.admits for member in pool.members))
            assert not any(call.startswith("wake") for call in first.calls)
            assert {(await ask(pool, f"r{n}"))[0] for n in range(20)} == {"0", "1"}

    run(go())


def test_a_resume_that_failed_is_not_repeated() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Hosted(index, wake_error=lost()))
        async with pool_of(crew, size=1) as pool:
            first = crew[0]
            await pool.sleep()
            crew._build = Hosted
            await pool.wake()  # waits for the new one, since there is no other
            assert sum(call.startswith("wake") for call in first.calls) == 1
            assert first.kills == 1
            assert await ask(pool) == "0: r"

    run(go())


@pytest.mark.parametrize(("after_sleep", "frees"), [(4 * GIB, GIB), (0, 0)], ids=["still held", "nothing claimed"])
def test_memory_that_did_not_fall_ends_the_engine(after_sleep: int, frees: int) -> None:
    async def go() -> None:
        crew = Crew(lambda index: Weighed(index, after_sleep=after_sleep, frees=frees))
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            assert pool.members[0].life.state is State.DEAD
            assert crew[0].closed
            await pool.wake()
            assert len(crew.built[0]) == 2

    run(go())


def test_memory_that_fell_is_believed() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Weighed(index, after_sleep=2 * GIB))
        async with pool_of(crew, size=1) as pool:
            assert await pool.sleep() == 2 * GIB
            assert pool.members[0].life.state is State.ASLEEP

    run(go())


def test_an_engine_that_dies_asleep_is_not_rebuilt_before_the_wake() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            crew[0].die("was killed")
            await until(lambda: pool.members[0].life.state is State.DEAD)
            await asyncio.sleep(0.03)
            assert len(crew.built[0]) == 1
            await pool.wake(WEIGHTS)
            assert len(crew.built[0]) == 1
            await pool.wake(KV)
            assert len(crew.built[0]) == 2
            assert await ask(pool) == "0: r"

    run(go())


def test_memory_can_be_asked_for_while_a_dead_engine_is_being_rebuilt() -> None:
    async def go() -> None:
        crew = Crew(Hosted)
        async with pool_of(crew, rebuild_pause_s=60.0, rebuild_pause_max_s=60.0) as pool:
            pool.members[0]._backoff.pause()
            crew[0].die("was killed")
            await until(lambda: pool.members[0].life.state is State.DEAD)
            assert await pool.sleep() == 2 * GIB
            assert (await pool.health()).state == "asleep"
            await pool.wake()
            assert await ask(pool) == "1: r"

    run(go())


def test_new_weights_come_in_between_requests_and_are_what_the_canary_expects() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew) as pool:
            gate = crew[0].gate = asyncio.Event()
            tasks = [soon(ask(pool, f"r{n}")) for n in range(4)]
            await until(lambda: crew[0].running == 2)
            update = soon(pool.update_weights("/new", "v2"))
            await until(lambda: pool.members[0].life.state is State.DRAINING)
            late = soon(ask(pool, "late"))
            assert (await pool.health()).healthy
            gate.set()
            await update
            assert pool.info.weight_version == "v2"
            await asyncio.gather(late, *tasks)
            await pool.sleep()
            await pool.wake()
            assert all(member.life.admits for member in pool.members)

    run(go())


def test_weights_that_the_first_engine_refuses_change_nothing() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Sleeper(index, update_error=InputError("no such folder")))
        async with pool_of(crew) as pool:
            with pytest.raises(InputError, match="no such folder"):
                await pool.update_weights("/missing", "v2")
            assert pool.info.weight_version == "v1"
            assert all(member.life.admits for member in pool.members)

    run(go())


def test_an_engine_that_alone_refuses_the_weights_is_rebuilt_with_them() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Sleeper(index, update_error=InputError("disk error") if index == 1 else None))
        async with pool_of(crew) as pool:
            crew._build = Sleeper
            await pool.update_weights("/new", "v2")
            await until(lambda: pool.members[1].life.admits)
            assert len(crew.built[1]) == 2
            assert crew[1].calls[:2] == ["start", "weights /new"]
            assert crew[1].version == "v2"

    run(go())


def test_weights_can_come_in_between_the_halves_of_a_wake() -> None:
    async def go() -> None:
        crew = Crew(Sleeper)
        async with pool_of(crew, size=1) as pool:
            await pool.sleep()
            with pytest.raises(GenerationError) as caught:
                await pool.update_weights("/new", "v2")
            assert caught.value.kind is FailureKind.ASLEEP
            await pool.wake(WEIGHTS)
            await pool.update_weights("/new", "v2")
            await pool.wake(KV)
            assert pool.info.weight_version == "v2"
            assert await ask(pool) == "0: r"

    run(go())


def test_a_replica_that_differs_from_the_others_at_its_start_gets_no_request() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Hosted(index))
        async with pool_of(crew) as pool:
            crew._build = lambda index: Hosted(index, version="v0")
            crew[0].die("was killed")
            await until(lambda: pool.members[0].life.state is State.QUARANTINED)
            assert pool.members[0].life.reason == "canary: it has weights 'v0', the others have 'v1'"

    run(go())


def test_engines_that_cannot_sleep_refuse_it() -> None:
    async def go() -> None:
        async with pool_of(Crew(Puppet)) as pool:
            for call in (pool.sleep(), pool.wake(), pool.update_weights("a", "b")):
                with pytest.raises(GenerationError) as caught:
                    await call
                assert caught.value.kind is FailureKind.BAD_REQUEST
            assert await ask(pool)

    run(go())


def test_a_canary_that_cannot_be_asked_lets_the_engine_serve(caplog: pytest.LogCaptureFixture) -> None:
    class Small(Sleeper):
        async def generate(self, request: Any, deadline: Any) -> Any:
            if request.id.startswith("canary"):
                raise GenerationError(FailureKind.CONTEXT_OVERFLOW, "too long")
            return await super().generate(request, deadline)

    async def go() -> None:
        async with pool_of(Crew(Small), size=1) as pool:
            await pool.sleep()
            await pool.wake()
            assert await ask(pool) == "0: r"

    run(go())
    assert "unproven" in caplog.text


def test_without_a_canary_nothing_is_asked() -> None:
    async def go() -> None:
        crew = Crew(lambda index: Sleeper(index, after_wake=-9.0))
        async with pool_of(crew, size=1, canary=None) as pool:
            await pool.sleep()
            await pool.wake()
            assert "canary" not in crew[0].calls
            assert await ask(pool)

    run(go())
