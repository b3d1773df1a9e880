"""What is said of actors that start, and what is said of one that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError, InputError, StartError
from assay.engines.ray.letters import Lost
from assay.rl.cluster import following
from assay.rl.cluster.crew import Crew, Dead, Told
from assay.rl.cluster.following import followed
from assay.rl.cluster.stages import Course, Whereabouts, own_log, tail


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_POLL_S", 0.02)
    monkeypatch.setattr(following, "_ANSWER_S", 0.2)


Work = Callable[[Course], Awaitable[Told]]


@dataclass
class Hand:
    """``mute``: it does not answer beside its call."""

    name: str
    work: Work
    log: str | None = None
    mute: bool = False
    course: Course = field(default_factory=Course)
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, *arguments: Any) -> Told:
        doing, dying = asyncio.ensure_future(self.work(self.course)), asyncio.ensure_future(self.killed.wait())
        await asyncio.wait({doing, dying}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise Dead("killed")

    async def beside(self, method: str, *arguments: Any) -> Any:
        if self.mute:
            await asyncio.Event().wait()
        if method == "standing":
            return self.course.standing(), tail(self.log)
        told = self.course.told()
        return Whereabouts(pid=told.pid, stages=told.stages, now_s=told.now_s, log=self.log)

    def kill(self) -> None:
        self.killed.set()


def through(*stages: str, then: Callable[[], Awaitable[Told]]) -> Work:
    async def work(course: Course) -> Told:
        for stage in stages:
            course.enter(stage)
            await asyncio.sleep(0.1)
        return await then()

    return work


async def fine() -> Told:
    return Told(value="state")


async def never() -> Told:
    await asyncio.Event().wait()
    raise AssertionError


async def refuses() -> Told:
    return Told(error=InputError("there is no such model"))


async def breaks() -> Told:
    raise Dead("its process has ended")


def start(*hands: Hand, stage_s: float = 30.0) -> tuple[list[str], Any]:
    told: list[str] = []
    crew = Crew(hands)

    async def run() -> Any:
        return await followed(crew, crew.all("join", timeout_s=60), stage_s=stage_s, say=told.append)

    return told, run()


def test_each_stage_is_said_once_for_all_that_are_in_it() -> None:
    hands = [Hand(f"rank {index}", through("imports", "model", then=fine)) for index in range(2)]
    told, run = start(*hands)
    assert asyncio.run(run) == ["state", "state"]
    stages = [line.split(":")[1].split(",")[0].strip() for line in told]
    assert sorted(set(stages)) == ["imports", "model"]
    assert all(" s of " in line for line in told)
    for stage in ("imports", "model"):
        who = ", ".join(line.split(":")[0] for line, own in zip(told, stages, strict=True) if own == stage)
        assert sorted(who.split(", ")) == ["rank 0", "rank 1"]


def test_the_one_that_is_least_far_is_named_with_what_it_does_and_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "worker.err"
    log.write_text("one\n" * 40 + "NCCL WARN the last line\n")
    ahead = Hand("rank 0", through("imports", "process group", then=never))
    behind = Hand("rank 1", through("imports", then=never), log=str(log))
    _, run = start(ahead, behind, stage_s=0.5)
    with pytest.raises(StartError) as caught:
        asyncio.run(run)
    text = str(caught.value)
    assert text.startswith("rank 1 has been in stage 'imports' for ")
    assert "rank 0 is in 'process group'" in text
    assert text.endswith("NCCL WARN the last line")
    assert str(log) in text
    assert ahead.killed.is_set()
    assert behind.killed.is_set()


def test_one_that_never_answered_is_said_to_have_no_process() -> None:
    silent = Hand("rank 1", through(then=never), mute=True)
    _, run = start(Hand("rank 0", through("imports", then=never)), silent, stage_s=0.5)
    with pytest.raises(StartError, match=r"(?s)rank 1 has been in stage 'process'.*it has never answered"):
        asyncio.run(run)


def test_what_a_rank_says_itself_is_what_is_raised() -> None:
    _, run = start(Hand("rank 0", through("model", then=refuses)), Hand("rank 1", through("model", then=never)))
    with pytest.raises(InputError, match="no such model"):
        asyncio.run(run)


def test_one_that_dies_is_told_with_its_stage_and_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "worker.err"
    log.write_text("terminate called after throwing an instance of 'std::bad_alloc'\n")
    dying = Hand("rank 1", through("imports", "sharding", then=breaks), log=str(log))
    _, run = start(Hand("rank 0", through("imports", then=never)), dying)
    with pytest.raises(StartError, match=r"(?s)rank 1 failed in 'join'.*in stage 'sharding'.*std::bad_alloc"):
        asyncio.run(run)


def test_a_course_knows_where_its_thread_is() -> None:
    course = Course()
    assert course.standing() == ""
    course.enter("here")
    assert "test_following.py" in course.standing()
    assert [stage.name for stage in course.told().stages] == ["here"]


def test_a_log_is_read_where_there_is_one(tmp_path: Path) -> None:
    assert tail(None) == tail(str(tmp_path / "none")) == ""
    log = tmp_path / "log"
    log.write_text("\n".join(str(number) for number in range(100)) + "\n\n")
    assert tail(str(log)).splitlines() == [str(number) for number in range(85, 100)]
    assert own_log() is None or Path(own_log() or "").is_file()


def test_a_lost_actor_has_nothing_beside() -> None:
    class Gone(Hand):
        async def beside(self, method: str, *arguments: Any) -> Any:
            raise Lost("gone")

    _, run = start(Gone("rank 0", through("imports", then=breaks)))
    with pytest.raises(AssayError, match="rank 0 failed in 'join'"):
        asyncio.run(run)
