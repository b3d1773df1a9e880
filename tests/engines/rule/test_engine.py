"""The rule engine with real child processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, StartError
from assay.core.types import ChatPrompt, FailureKind, Message, Prompt, Request, RulePrompt
from assay.engines.rule.config import RuleConfig
from assay.engines.rule.engine import RuleEngine

SLOW = "$9^{9^{9^{9}}}$"


def math(reference: str, answer: str) -> RulePrompt:
    return RulePrompt(rule="math", arguments={"reference": reference, "answer": answer})


async def ask(engine: RuleEngine, prompt: Prompt, deadline: Deadline | None = None) -> str | FailureKind:
    request = Request(id="r", prompt=prompt)
    try:
        return (await engine.generate(request, deadline or Deadline.after(30)))[0].text
    except GenerationError as error:
        return error.kind


def run(body: Callable[[RuleEngine], Awaitable[None]], config: RuleConfig) -> None:
    before = children()

    async def main() -> None:
        engine = RuleEngine(config)
        await engine.start()
        try:
            await body(engine)
        finally:
            await engine.close()
            await engine.close()

    asyncio.run(main())
    assert children() == before


def children() -> list[str]:
    """The children of this process, zombies too."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return listed.split()


def test_an_answer_with_words_around_it_is_not_shown_equal_where_it_has_to_be_whole() -> None:
    def whole(reference: str, answer: str) -> RulePrompt:
        return RulePrompt(rule="math", arguments={"reference": reference, "answer": answer, "whole": True})

    async def body(engine: RuleEngine) -> None:
        for reference, answer in (("8", "either 7 or 8"), ("8", "I get 8"), ("8", "it is 8 " + "!" * 500)):
            assert await ask(engine, math(reference, answer)) == "1"
            assert await ask(engine, whole(reference, answer)) == "0"
        assert await ask(engine, whole("0.5", r"$\frac{1}{2}$")) == "1"
        assert await ask(engine, whole("x+1", "1+x")) == "1"
        wrong = RulePrompt(rule="math", arguments={"reference": "8", "answer": "8", "whole": "yes"})
        assert await ask(engine, wrong) is FailureKind.BAD_REQUEST

    run(body, RuleConfig())


def test_a_poisoned_answer_costs_only_itself() -> None:
    async def body(engine: RuleEngine) -> None:
        begin = time.perf_counter()
        poison = [math("5", SLOW), math("5", "$" + "(" * 3000 + "1" + ")" * 3000 + "$")]
        good = [math("x^2", "x*x"), math("x^2", "x^3"), math("5", r"\frac{1}{2"), math("5", "7" * 100_000)]
        asked = await asyncio.gather(*(ask(engine, prompt) for prompt in poison + good))
        assert asked == [FailureKind.TIMEOUT, FailureKind.TIMEOUT, "1", "0", "0", "0"]
        assert time.perf_counter() - begin < 20
        health = await engine.health()
        assert health.healthy
        assert health.detail["expired"] == 2

    run(body, RuleConfig(workers=2, rule_timeout_s=1.5))


def test_waiting_for_a_worker_does_not_count_as_time_of_the_rule() -> None:
    async def body(engine: RuleEngine) -> None:
        stuck = asyncio.create_task(engine.generate(Request(id="r", prompt=math("5", SLOW)), Deadline.never()))
        await asyncio.sleep(0)
        assert await ask(engine, math("2x", "x*2")) == "1"  # it waited longer than a rule may take
        with pytest.raises(GenerationError, match=r"rule 'math' took over 0.5 s"):
            await stuck

    run(body, RuleConfig(workers=1, rule_timeout_s=0.5))


def test_a_worker_that_is_killed_is_a_failure_of_its_own_task_and_is_replaced() -> None:
    async def body(engine: RuleEngine) -> None:
        doomed = asyncio.create_task(engine.generate(Request(id="r", prompt=math("5", SLOW)), Deadline.after(20)))
        await asyncio.sleep(0)
        os.kill(await busiest(), signal.SIGKILL)
        assert await ask(engine, math("x+1", "1+x")) == "1"
        with pytest.raises(GenerationError, match="its worker was killed by SIGKILL") as caught:
            await doomed
        assert caught.value.kind is FailureKind.ENGINE_ERROR
        for pid in children():  # those that are idle, and the one that is starting
            os.kill(int(pid), signal.SIGKILL)
        await asyncio.sleep(0.1)
        assert await ask(engine, math("x+2", "2+x")) == "1"

    run(body, RuleConfig(workers=2, rule_timeout_s=20))


async def busiest() -> int:
    """The child that computes, once one does."""
    before = {pid: cpu_ticks(pid) for pid in children()}
    for _ in range(100):
        await asyncio.sleep(0.05)
        for pid, ticks in before.items():
            if cpu_ticks(pid) > ticks + 3:
                return int(pid)
    raise AssertionError("no child computes")


def cpu_ticks(pid: str) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_the_deadline_and_the_caller_end_the_work() -> None:
    async def body(engine: RuleEngine) -> None:
        assert await ask(engine, math("5", SLOW), Deadline.after(0.2)) is FailureKind.TIMEOUT
        left = asyncio.create_task(ask(engine, math("5", SLOW)))
        await asyncio.sleep(0.1)
        left.cancel()
        assert await ask(engine, math("x+1", "1+x")) == "1"
        assert left.cancelled()

    run(body, RuleConfig(workers=1, rule_timeout_s=60))


def test_what_the_engine_does_not_answer_is_refused_by_name() -> None:
    async def body() -> None:
        engine = RuleEngine(RuleConfig())
        chat = ChatPrompt(messages=(Message(role="user", content="hello"),))
        assert await ask(engine, chat) is FailureKind.BAD_REQUEST
        assert await ask(engine, RulePrompt(rule="physics", arguments={})) is FailureKind.BAD_REQUEST
        assert await ask(engine, RulePrompt(rule="math", arguments={"answer": "1"})) is FailureKind.BAD_REQUEST
        assert await ask(engine, math("1", "1")) is FailureKind.ENGINE_ERROR
        assert not (await engine.health()).healthy
        assert engine.info.batch_invariant
        assert "math-verify" in engine.info.weight_version

    asyncio.run(body())


def test_samples_of_one_request_are_numbered() -> None:
    async def body(engine: RuleEngine) -> None:
        request = Request(id="r", prompt=math("1", "1"), n=3)
        completions = await engine.generate(request, Deadline.never())
        assert [(c.index, c.text, c.request_id) for c in completions] == [(0, "1", "r"), (1, "1", "r"), (2, "1", "r")]

    run(body, RuleConfig(workers=1))


def test_a_worker_that_is_not_ready_in_time_is_a_start_error() -> None:
    engine, before = RuleEngine(RuleConfig(workers=2, start_timeout_s=0.01)), children()
    with pytest.raises(StartError, match="start_timeout_s"):
        asyncio.run(engine.start())
    assert children() == before


def test_no_child_outlives_a_parent_that_is_killed() -> None:
    code = """
import asyncio, os
from assay.core.deadline import Deadline
from assay.core.types import Request, RulePrompt
from assay.engines.rule.config import RuleConfig
from assay.engines.rule.engine import RuleEngine

async def main():
    engine = RuleEngine(RuleConfig(workers=2, rule_timeout_s=60))
    await engine.start()
    prompt = RulePrompt(rule="math", arguments={"reference": "5", "answer": "$9^{9^{9^{9}}}$"})
    stuck = asyncio.create_task(engine.generate(Request(id="r", prompt=prompt), Deadline.never()))
    await asyncio.sleep(0.1)
    print(open(f"/proc/self/task/{os.getpid()}/children").read(), flush=True)
    await stuck

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = parent.stdout.readline().split()
        assert len(pids) == 2
        parent.kill()
    give_up = time.monotonic() + 5
    while any(map(_runs, pids)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not any(map(_runs, pids))


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
