"""What happens to requests when engines die, hang, come back as somebody else, or fail a control call.

    python benchmarks/chaos.py [--engine fake|embedded] [--replicas 3] [--requests N] [--kills N] [--seed 0]

Every engine runs in a process of its own behind one pool. The same requests, with the same seeds, run once undisturbed
and once under each fault; a request is lost when it has no answer, and wrong when its text is another one. Printed
beside them: how long it took until the pool's health told of a fault, and until all replicas served again.
Exit status 1 when anything was lost, wrong, or not told within two seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.stats import percentile
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request, SamplingParams
from assay.engines.base import Engine, Tag
from assay.engines.hosted.config import HostedConfig
from assay.engines.hosted.engine import HostedEngine
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.pool.member import Member

TOLD_WITHIN_S = 2.0
DEADLINE_S = 300.0
GARBAGE = "\ufffd\ufffd 0 0 0"


class Faulty(HostedEngine):
    """A hosted engine whose next control calls can be made to go wrong."""

    def __init__(self, config: HostedConfig, plan: Plan) -> None:
        super().__init__(config)
        self._plan = plan
        self._garbled = False

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        answer = await super().generate(request, deadline)
        return tuple(map(garbled, answer)) if self._garbled else answer

    async def sleep(self, tags: frozenset[Tag]) -> int:
        if self._plan.take("502 on sleep"):
            raise GenerationError(FailureKind.ENGINE_ERROR, "HTTP 502 Bad Gateway")
        return await super().sleep(tags)

    async def wake(self, tags: frozenset[Tag]) -> int:
        if self._plan.take("502 on wake"):
            raise GenerationError(FailureKind.ENGINE_ERROR, "HTTP 502 Bad Gateway")
        taken = await super().wake(tags)
        if "weights" in tags and self._plan.take("garbage"):
            if self._plan.noise is None:
                self._garbled = True
            else:
                await self.update_weights(str(self._plan.noise), self.info.weight_version)
        return taken

    async def reload(self) -> None:
        if self._plan.take("broken reload"):
            raise GenerationError(FailureKind.ENGINE_ERROR, "the weights cannot be read")
        await super().reload()
        self._garbled = False


@dataclass
class Plan:
    """Which faults are still to happen; ``noise``: a folder of weights that are none, for engines that read weights."""

    noise: Path | None = None
    due: list[str] = field(default_factory=list[str])

    def take(self, fault: str) -> bool:
        if fault in self.due:
            self.due.remove(fault)
            return True
        return False


@dataclass
class Result:
    """One run. ``told`` and ``healed``: seconds after each fault; a wake tells when it is over and has no ``told``."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    errors: list[str] = field(default_factory=list[str])
    latencies: list[float] = field(default_factory=list[float])
    faults: int = 0
    told: list[float] = field(default_factory=list[float])
    healed: list[float] = field(default_factory=list[float])
    seconds: float = 0.0
    retries: int = 0
    note: str = ""


def garbled(completion: Completion) -> Completion:
    """As an engine answers whose weights came back as zeros: fluent HTTP, every token equally unlikely."""
    logprobs = None if completion.logprobs is None else (-10.8,) * len(completion.logprobs)
    return replace(completion, text=GARBAGE, logprobs=logprobs)


def request_of(number: int, tokens: int) -> Request:
    text = f"Question {number}: is {number} + {number} = {2 * number + number % 3}? Answer with one word."
    sampling = SamplingParams(temperature=1.0, seed=number, max_new_tokens=tokens)
    prompt = ChatPrompt(messages=(Message(role="user", content=text),))
    return Request(id=f"r{number}", prompt=prompt, sampling=sampling)


class Run:
    """A pool under load."""

    def __init__(self, asked: argparse.Namespace, plan: Plan) -> None:
        self.asked = asked
        self.plan = plan
        self.result = Result()
        self.done = 0
        self.struck: set[Engine] = set()
        self.random = random.Random(asked.seed)
        options: dict[str, Any] = {"kind": "fake", "latency_s": 0.02, "replies": ["yes", "no", "yes, it is", "no, not"]}
        if asked.engine == "embedded":
            options = {"kind": "embedded", "threads": 1, "batch_invariant": True, "max_context_len": 512}
        hosted = HostedConfig(engine=options)
        config = PoolConfig(size=asked.replicas, hang_s=asked.hang_s)
        self.pool = PoolEngine(config, lambda _: Faulty(hosted, plan))

    async def requests(self, numbers: range) -> None:
        places = asyncio.Semaphore(self.asked.concurrency)

        async def one(number: int) -> None:
            async with places:
                begin = time.monotonic()
                try:
                    answer = await self.pool.generate(request_of(number, self.asked.tokens), Deadline.after(DEADLINE_S))
                except GenerationError as error:
                    self.result.errors.append(f"r{number}: {error}")
                else:
                    self.result.texts[number] = answer[0].text
                self.result.latencies.append(time.monotonic() - begin)
                self.done += 1

        await asyncio.gather(*map(one, numbers))

    async def signalled(self, sign: signal.Signals) -> None:
        """Send a signal to a replica that serves, and see what becomes of it."""
        await self.pool_changes(lambda: bool(self.targets()))
        member = self.random.choice(self.targets())
        engine = member.engine
        assert isinstance(engine, HostedEngine)
        assert engine.pid is not None
        self.struck.add(engine)
        begin = time.monotonic()
        os.kill(engine.pid, sign)
        self.result.faults += 1
        await self.pool_changes(lambda: member.engine is not engine or member.condition != "ready")
        health = await self.pool.health()
        assert health.error is not None or not health.healthy
        self.result.told.append(time.monotonic() - begin)
        await self.pool_changes(lambda: member.engine is not engine and member.life.admits)
        self.result.healed.append(time.monotonic() - begin)

    def targets(self) -> list[Member]:
        return [member for member in self.pool.members if member.life.admits and member.engine not in self.struck]

    async def pool_changes(self, condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110  what is watched is not ours to change
            await asyncio.sleep(0.01)

    async def faults(self, sign: signal.Signals, times: int) -> None:
        """Signals at random moments: when so many requests are done."""
        moments = sorted(self.random.sample(range(self.asked.requests * 9 // 10), times))
        under_way: list[asyncio.Task[None]] = []
        for moment in moments:
            await self.pool_changes(lambda moment=moment: self.done >= moment)
            under_way.append(asyncio.ensure_future(self.signalled(sign)))
        await asyncio.gather(*under_way)


Scene = Callable[[Run], Awaitable[None]]


async def calm(run: Run) -> None:
    await run.requests(range(run.asked.requests))


async def killed(run: Run) -> None:
    await asyncio.gather(run.requests(range(run.asked.requests)), run.faults(signal.SIGKILL, run.asked.kills))


async def hung(run: Run) -> None:
    await asyncio.gather(
        run.requests(range(run.asked.requests)), run.faults(signal.SIGSTOP, max(1, run.asked.kills // 5))
    )


def night(*faults: str) -> Scene:
    """Half of the requests, a sleep and a wake with the faults, the other half."""

    async def scene(run: Run) -> None:
        half = run.asked.requests // 2
        await run.requests(range(half))
        run.plan.due = list(faults)
        await run.pool.sleep()
        begin = time.monotonic()
        await run.pool.wake()
        health = await run.pool.health()
        run.result.faults = 1
        run.result.note = health.error or ""
        await run.requests(range(half, run.asked.requests))
        if all(m.life.state != "quarantined" for m in run.pool.members):
            await run.pool_changes(lambda: all(m.life.admits for m in run.pool.members))
            run.result.healed.append(time.monotonic() - begin)

    return scene


SCENES: dict[str, Scene] = {
    "undisturbed": calm,
    "kill -9": killed,
    "hang (SIGSTOP)": hung,
    "garbage after wake": night("garbage"),
    "the same, reload fails": night("garbage", "broken reload"),
    "502 on sleep": night("502 on sleep"),
    "502 on wake": night("502 on wake"),
}


async def play(scene: Scene, asked: argparse.Namespace, noise: Path | None) -> Result:
    run = Run(asked, Plan(noise))
    await run.pool.start()
    begin = time.monotonic()
    try:
        await scene(run)
    finally:
        run.result.seconds = time.monotonic() - begin
        run.result.retries = run.pool.counters.retries
        await run.pool.close()
    return run.result


def noise_of(folder: Path) -> Path:
    """The default model with weights that are noise."""
    import torch
    from safetensors.torch import load_file, save_file

    from assay.engines.embedded.prepare import prepare_default_model

    shutil.copytree(prepare_default_model(), folder, dirs_exist_ok=True)
    for file in folder.glob("*.safetensors"):
        torch.manual_seed(0)
        save_file({name: torch.randn_like(w) * 0.02 for name, w in load_file(file).items()}, file, {"format": "pt"})
    return folder


def row(name: str, result: Result, base: Result, requests: int) -> tuple[list[str], bool]:
    lost = requests - len(result.texts)
    wrong = sum(text != base.texts.get(number) for number, text in result.texts.items())
    told, healed = max(result.told, default=0.0), max(result.healed, default=0.0)
    p99 = percentile(result.latencies, 99) or 0.0
    mean = sum(result.healed) / len(result.healed) if result.healed else 0.0
    cells = [name, str(requests), str(lost), str(wrong), str(result.faults), str(result.retries)]
    cells += [f"{seconds:.2f}" if seconds else "" for seconds in (told, mean, healed)]
    cells += [f"{p99:.2f}", f"{requests / result.seconds:.0f}"]
    return cells, lost == 0 and wrong == 0 and told <= TOLD_WITHIN_S


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=("fake", "embedded"), default="fake")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--requests", type=int, help="default 5000, 120 with embedded engines")
    parser.add_argument("--kills", type=int, help="default 20, 4 with embedded engines")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--hang-s", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="names of scenes; the undisturbed one always runs")
    asked = parser.parse_args()
    real = asked.engine == "embedded"
    asked.requests = asked.requests or (120 if real else 5000)
    asked.kills = asked.kills or (4 if real else 20)
    table = Table(title=f"{asked.replicas} {asked.engine} engines in processes of their own")
    for column in ("fault", "requests", "lost", "wrong", "faults", "retries"):
        table.add_column(column)
    for column in ("told s (max)", "healed s (mean)", "healed s (max)", "p99 s", "requests/s"):
        table.add_column(column)
    good = True
    base = Result()
    with tempfile.TemporaryDirectory() as folder:
        noise = noise_of(Path(folder)) if asked.engine == "embedded" else None
        for name, scene in SCENES.items():
            if name != "undisturbed" and asked.only and name not in asked.only:
                continue
            result = asyncio.run(play(scene, asked, noise))
            base = result if name == "undisturbed" else base
            cells, fine = row(name, result, base, asked.requests)
            table.add_row(*cells)
            good = good and fine
            for error in result.errors[:5]:
                print(f"{name}: {error}", file=sys.stderr)
            if result.note:
                print(f"{name}: health said: {result.note}", file=sys.stderr)
    Console(width=140).print(table)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
