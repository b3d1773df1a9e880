from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request, RulePrompt, SamplingParams
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.hosted.config import HostedConfig
from assay.engines.hosted.engine import HostedEngine

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]

OPTIONS: dict[str, Any] = {"replies": ["one two three", "four five", "six"], "context_len": 50}
FAKE = HostedConfig(engine={"kind": "fake", **OPTIONS}, close_timeout_s=5)
SLOW = HostedConfig(engine={"kind": "fake", "latency_s": 60}, close_timeout_s=5)


def chat(text: str, **fields: Any) -> Request:
    prompt = ChatPrompt(messages=(Message(role="user", content=text),))
    return Request(id=f"r-{text}", prompt=prompt, sampling=SamplingParams(seed=7, logprobs=2), **fields)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def engine(runner: asyncio.Runner) -> Iterator[HostedEngine]:
    engine = HostedEngine(FAKE)
    runner.run(engine.start())
    yield engine
    runner.run(engine.close())


@pytest.fixture
def slow(runner: asyncio.Runner) -> Iterator[HostedEngine]:
    engine = HostedEngine(SLOW)
    runner.run(engine.start())
    yield engine
    engine.kill()
    runner.run(engine.close())


async def until(condition: Callable[[], Coroutine[Any, Any, bool]], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110  another process is watched
            await asyncio.sleep(0.02)


def generate(runner: asyncio.Runner, engine: Any, request: Request, seconds: float = 20) -> tuple[Completion, ...]:
    return runner.run(engine.generate(request, Deadline.after(seconds)))


@pytest.mark.parametrize("request_", [chat("a"), chat("b", n=3), chat("c", choices=("1", "0"))], ids=lambda r: r.id)
def test_the_process_answers_as_the_engine_would_here(
    runner: asyncio.Runner, engine: HostedEngine, request_: Request
) -> None:
    here = FakeEngine(FakeConfig(**OPTIONS))
    assert generate(runner, engine, request_) == generate(runner, here, request_)


def test_it_says_of_itself_what_the_engine_says(engine: HostedEngine) -> None:
    assert engine.info == FakeEngine(FakeConfig(**OPTIONS)).info


def test_a_stream_arrives_delta_by_delta(runner: asyncio.Runner, engine: HostedEngine) -> None:
    async def deltas(of: Any) -> list[Any]:
        return [delta async for delta in of.stream(chat("a", n=2), Deadline.after(20))]

    streamed = runner.run(deltas(engine))
    assert len(streamed) > 2
    assert streamed == runner.run(deltas(FakeEngine(FakeConfig(**OPTIONS))))


def test_its_errors_keep_their_kind(runner: asyncio.Runner, engine: HostedEngine) -> None:
    with pytest.raises(GenerationError, match="60 words") as caught:
        generate(runner, engine, chat("word " * 60))
    assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW

    async def streamed() -> None:
        async for _ in engine.stream(chat("word " * 60), Deadline.after(20)):
            pass

    with pytest.raises(GenerationError, match="60 words"):
        runner.run(streamed())


def test_it_sleeps_wakes_takes_weights_and_starts_over(runner: asyncio.Runner, engine: HostedEngine) -> None:
    both = frozenset({"weights", "kv_cache"})
    assert runner.run(engine.sleep(both)) > 0
    assert runner.run(engine.health()).state == "asleep"
    with pytest.raises(GenerationError) as caught:
        generate(runner, engine, chat("a"))
    assert caught.value.kind is FailureKind.ASLEEP
    assert runner.run(engine.wake(both)) > 0
    runner.run(engine.update_weights("somewhere", "v2"))
    assert engine.info.weight_version == "v2"
    assert generate(runner, engine, chat("a"))[0].weight_version == "v2"
    runner.run(engine.reload())
    assert engine.info.weight_version == "0"


def test_nobody_can_weigh_a_fake_engine(runner: asyncio.Runner, engine: HostedEngine) -> None:
    assert runner.run(engine.held_bytes()) is None


def test_a_deadline_crosses_into_the_process(runner: asyncio.Runner, slow: HostedEngine) -> None:
    begin = time.monotonic()
    with pytest.raises(GenerationError) as caught:
        generate(runner, slow, chat("a"), seconds=0.2)
    assert caught.value.kind is FailureKind.TIMEOUT
    assert time.monotonic() - begin < 5


def test_who_leaves_aborts_the_generation(runner: asyncio.Runner, slow: HostedEngine) -> None:
    async def running() -> object:
        return (await slow.health()).detail["running"]

    async def leave() -> None:
        task = asyncio.ensure_future(slow.generate(chat("a"), Deadline.after(60)))
        await until(lambda: _equals(running(), 1))
        task.cancel()
        await until(lambda: _equals(running(), 0))

    runner.run(leave())


async def _equals(value: Coroutine[Any, Any, object], wanted: object) -> bool:
    return await value == wanted


def test_a_killed_process_fails_what_it_worked_on_at_once(runner: asyncio.Runner, slow: HostedEngine) -> None:
    async def killed() -> tuple[BaseException | object, str, float]:
        task = asyncio.ensure_future(slow.generate(chat("a"), Deadline.after(60)))
        await asyncio.sleep(0.1)
        begin = time.monotonic()
        assert slow.pid is not None
        os.kill(slow.pid, signal.SIGKILL)
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(10):
            how = await slow.lost()
        return outcome, how, time.monotonic() - begin

    outcome, how, seconds = runner.run(killed())
    assert isinstance(outcome, GenerationError)
    assert outcome.kind is FailureKind.ENGINE_ERROR
    assert how.endswith("was killed by SIGKILL")
    assert seconds < 5
    health = runner.run(slow.health())
    assert (health.healthy, health.state) == (False, "dead")
    with pytest.raises(GenerationError):
        generate(runner, slow, chat("b"))


def test_closing_twice_is_fine_and_leaves_no_files(runner: asyncio.Runner) -> None:
    engine = HostedEngine(FAKE)
    runner.run(engine.close())
    runner.run(engine.start())
    assert engine._process is not None
    folder = Path(engine._process.socket_path).parent
    runner.run(engine.close())
    runner.run(engine.close())
    assert not folder.exists()
    assert not runner.run(engine.health()).healthy


def test_unknown_options_are_refused_before_anything_starts() -> None:
    with pytest.raises(InputError, match="latency"):
        HostedEngine(HostedConfig(engine={"kind": "fake", "latency": 1}))
    with pytest.raises(InputError, match="''"):
        HostedEngine(HostedConfig(engine={}))


def test_an_engine_that_cannot_start_says_why(runner: asyncio.Runner) -> None:
    engine = HostedEngine(HostedConfig(engine={"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:9"}))
    with pytest.raises(StartError, match=r"127\.0\.0\.1"):
        runner.run(engine.start())
    assert not runner.run(engine.health()).healthy


def test_a_process_that_ends_at_once_is_a_start_error(runner: asyncio.Runner) -> None:
    with pytest.raises(StartError, match="its log ends"):
        runner.run(HostedEngine(HostedConfig(engine={"kind": "fake"}, python="/bin/false")).start())
    with pytest.raises(StartError, match="/no/such/python"):
        runner.run(HostedEngine(HostedConfig(engine={"kind": "fake"}, python="/no/such/python")).start())


def test_what_an_engine_cannot_do_is_refused(runner: asyncio.Runner) -> None:
    async def refused() -> tuple[list[FailureKind], str, list[str]]:
        engine = HostedEngine(HostedConfig(engine={"kind": "rule", "workers": 1}))
        await engine.start()
        kinds: list[FailureKind] = []
        for call in (engine.sleep(frozenset({"weights"})), engine.update_weights("a", "b")):
            with pytest.raises(GenerationError) as caught:
                await call
            kinds.append(caught.value.kind)
        rule = RulePrompt(rule="math", arguments={"answer": "$4$", "reference": "4"})
        answer = await engine.generate(Request(id="m", prompt=rule), Deadline.after(30))
        deltas = [delta.text async for delta in engine.stream(Request(id="s", prompt=rule), Deadline.after(30))]
        await engine.close()
        return kinds, answer[0].text, deltas

    kinds, text, deltas = runner.run(refused())
    assert kinds == [FailureKind.BAD_REQUEST] * 2
    assert text == "1"
    assert deltas == ["1"]  # a rule's whole answer, since there is nothing to stream


PARENT = """
import asyncio, os, signal, sys
from assay.engines.hosted.config import HostedConfig
from assay.engines.hosted.engine import HostedEngine
async def main():
    engine = HostedEngine(HostedConfig(engine={"kind": "fake"}))
    await engine.start()
    if sys.argv[1] == "hung":
        os.kill(engine.pid, signal.SIGSTOP)
    print(engine.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's death is signalled on Linux")
@pytest.mark.parametrize("state", ["running", "hung"])
def test_the_process_ends_with_its_parent(state: str) -> None:
    parent = subprocess.run([sys.executable, "-c", PARENT, state], capture_output=True, text=True, timeout=60)
    pid = int(parent.stdout)
    end = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status != "Z"
