"""Overload: what an ``assay serve`` process does when four times as many requests come as it can answer.

    python benchmarks/overload.py [--seconds 60] [--factor 4] [--latency 0.05] [--max-in-flight 8] [--max-queue 32]

The fake engine takes ``--latency`` for each request, so that capacity is known: ``--max-in-flight`` / ``--latency``.
It is measured all the same, by more clients in turn than the service has places. Then requests come at a fixed rate,
whether or not earlier ones are answered (open loop), from one process on loopback. Exit status 1 when goodput is more
than a tenth off capacity, the p99 of refusals is over 100 ms, a refusal names no ``Retry-After``, a request got any
other answer, memory grew by over 2 % from the first quarter of the load to its end, or it took over a second until a
request was answered as fast as before the load. Latencies count from when a request was due, so a sender that is held
up (a busy machine) shows in them; how late it was is told beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from rich.console import Console
from rich.table import Table

from assay.core.stats import percentile

GOODPUT_WITHIN = 0.1
REFUSED_P99_S = 0.1
MEMORY_GROWTH = 0.02
RECOVERED_WITHIN_S = 1.0
QUARTERS = (0.02, 0.25, 0.5, 0.75, 1.0)
NORMAL = 2.0
"""A latency is normal again when it is at most this many times the median without load."""
BODY = {"messages": [{"role": "user", "content": "Is 4 the sum of 2 and 2? Answer with 1 or 0."}]}
MIB = 1 << 20


@dataclass(frozen=True)
class Answer:
    """One request: its status (0: no answer at all), when it was due and answered, and whether it may come back."""

    status: int
    due: float
    end: float
    retry_after: bool

    @property
    def seconds(self) -> float:
        """From when it was due: a sender that falls behind makes latencies longer, not invisible."""
        return self.end - self.due


@dataclass
class Measured:
    """Everything of one run. Times are of the performance counter, memory is in bytes."""

    idle: list[float] = field(default_factory=list[float])
    capacity: float = 0.0
    begin: float = 0.0
    load_s: float = 0.0
    answers: list[Answer] = field(default_factory=list[Answer])
    memory: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    memory_before: int = 0
    memory_after: int = 0
    recovered_s: float = 0.0
    sender_late_s: float = 0.0
    first: Answer | None = None

    @property
    def goodput(self) -> float:
        """Answers a second while the load came; what is answered later does not count."""
        end = self.begin + self.load_s
        return sum(a.status == 200 and a.end <= end for a in self.answers) / self.load_s

    @property
    def normal_s(self) -> float:
        return NORMAL * (percentile(self.idle, 50) or 0.0)

    def seconds(self, status: int) -> list[float]:
        return [answer.seconds for answer in self.answers if answer.status == status]


@contextmanager
def service(options: argparse.Namespace) -> Generator[tuple[str, int]]:
    """``assay serve`` in a process of its own; gives its address once it is ready."""
    engine = json.dumps({"latency_s": options.latency})
    limits = ("--max-in-flight", str(options.max_in_flight), "--max-queue", str(options.max_queue))
    command = [sys.executable, "-m", "assay", "serve", "--engine", "fake", "--engine-options", engine]
    command += ["--port", "0", "--log-level", "error", *limits]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stdout is not None
        try:
            address = next((word for word in process.stdout.readline().split() if word.startswith("http")), None)
            if address is None:
                sys.exit("the service did not start; its words are above")
            yield address, process.pid
        finally:
            process.terminate()


def resident(pid: int) -> int:
    """Bytes of main memory that a process holds; Linux tells them."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def ask(session: aiohttp.ClientSession, url: str, due: float) -> Answer:
    try:
        async with session.post(url, json=BODY) as reply:
            await reply.read()
            return Answer(reply.status, due, time.perf_counter(), "Retry-After" in reply.headers)
    except aiohttp.ClientError:
        return Answer(0, due, time.perf_counter(), False)


async def closed_loop(session: aiohttp.ClientSession, url: str, clients: int, seconds: float) -> float:
    """Answers a second with so many clients, each asking as soon as it is answered."""
    stop_at = time.perf_counter() + seconds
    done = 0

    async def client() -> None:
        nonlocal done
        while time.perf_counter() < stop_at:
            answer = await ask(session, url, time.perf_counter())
            done += answer.status == 200 and answer.end <= stop_at

    await asyncio.gather(*(client() for _ in range(clients)))
    return done / seconds


async def open_loop(session: aiohttp.ClientSession, url: str, rate: float, into: Measured) -> None:
    """Requests at ``rate`` for ``into.load_s`` seconds; returns at the load's end, when some may still be waiting."""
    into.begin = time.perf_counter()
    sent: set[asyncio.Task[None]] = set()

    async def one(due: float) -> None:
        into.answers.append(await ask(session, url, due))

    for number in range(int(rate * into.load_s)):
        due = into.begin + number / rate
        ahead = due - time.perf_counter()
        if ahead > 0:
            await asyncio.sleep(ahead)
        into.sender_late_s = max(into.sender_late_s, time.perf_counter() - due)
        task = asyncio.create_task(one(due))
        sent.add(task)
        task.add_done_callback(sent.discard)
    await asyncio.sleep(into.begin + into.load_s - time.perf_counter())
    recovery = asyncio.create_task(recover(session, url, into))
    await asyncio.gather(recovery, *sent)


async def recover(session: aiohttp.ClientSession, url: str, into: Measured) -> None:
    """One request after the other from the load's end on, until one is answered as fast as without load."""
    end = into.begin + into.load_s
    while True:
        answer = await ask(session, url, time.perf_counter())
        into.first = into.first or answer
        if answer.status == 200 and answer.seconds <= into.normal_s:
            into.recovered_s = answer.end - end
            return


async def watch_memory(pid: int, into: Measured) -> None:
    while True:
        into.memory.append((time.perf_counter(), resident(pid)))
        await asyncio.sleep(0.5)


async def measure(url: str, pid: int, options: argparse.Namespace) -> Measured:
    found = Measured(load_s=options.seconds)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60)) as session:
        for _ in range(40):
            found.idle.append((await ask(session, url, time.perf_counter())).seconds)
        clients = options.max_in_flight + min(options.max_queue, options.max_in_flight)
        await closed_loop(session, url, clients, 1.0)
        found.capacity = await closed_loop(session, url, clients, 5.0)
        found.memory_before = resident(pid)
        watching = asyncio.create_task(watch_memory(pid, found))
        await open_loop(session, url, options.factor * found.capacity, found)
        watching.cancel()
        found.memory_after = resident(pid)
    return found


def faults(found: Measured) -> list[str]:
    """What is not as it should be."""
    told: list[str] = []
    if abs(found.goodput / found.capacity - 1) > GOODPUT_WITHIN:
        told.append(f"goodput is {found.goodput / found.capacity:.2f} of capacity")
    if (percentile(found.seconds(429), 99) or 0.0) > REFUSED_P99_S:
        told.append("refusals are slow")
    if any(answer.status == 429 and not answer.retry_after for answer in found.answers):
        told.append("a refusal names no Retry-After")
    if others := Counter(answer.status for answer in found.answers if answer.status not in (200, 429)):
        told.append(f"other answers than 200 and 429: {dict(others)}")
    if (growth := resident_at(found, 1.0) / resident_at(found, 0.25) - 1) > MEMORY_GROWTH:
        told.append(f"memory grew by {growth:.1%} under load")
    if found.recovered_s > RECOVERED_WITHIN_S:
        told.append("recovery took long")
    return told


def show(found: Measured, options: argparse.Namespace, told: list[str]) -> None:
    nominal = options.max_in_flight / options.latency
    table = Table(
        title=f"Overload at {options.factor:g} x capacity for {options.seconds:g} s, fake engine", min_width=72
    )
    table.add_column("what")
    table.add_column("figure", justify="right")
    answered, refused = found.seconds(200), found.seconds(429)
    queue_ms = (options.max_queue + options.max_in_flight) / nominal * 1e3
    first = "-" if found.first is None else f"{found.first.status}, {found.first.seconds * 1e3:.1f} ms"
    held = [f"{resident_at(found, share) / MIB:.1f}" for share in QUARTERS]
    rows = [
        ("capacity (nominal)", f"{found.capacity:.1f} /s ({nominal:.1f})"),
        ("offered", f"{len(found.answers) / found.load_s:.1f} /s"),
        ("sender late by at most", f"{found.sender_late_s * 1e3:.1f} ms"),
        ("goodput ÷ capacity", f"{found.goodput / found.capacity:.3f} (target 1 ± {GOODPUT_WITHIN:g})"),
        ("answered, refused", f"{len(answered):,}, {len(refused):,}"),
        ("refused p50, p99, max", f"{spread(refused)} (target p99 < {REFUSED_P99_S * 1e3:g})"),
        ("answered p50, p99, max", spread(answered)),
        ("without load p50", ms(found.idle, 50)),
        ("first after the load", first),
        ("normal latency again after", f"{found.recovered_s * 1e3:.0f} ms (the queue alone takes {queue_ms:.0f})"),
        ("RSS before, after", f"{found.memory_before / MIB:.1f}, {found.memory_after / MIB:.1f} MiB"),
        ("RSS during: " + ", ".join(f"{share:.0%}" for share in QUARTERS), ", ".join(held) + " MiB"),
    ]
    for row in rows:
        table.add_row(*row)
    table.caption = "as it should be" if not told else "; ".join(told)
    Console(width=100).print(table)


def resident_at(found: Measured, share: float) -> int:
    """Bytes held at a share of the load's time."""
    when = found.begin + share * found.load_s
    return min(found.memory, key=lambda one: abs(one[0] - when))[1]


def spread(seconds: list[float]) -> str:
    return ", ".join(ms(seconds, q) for q in (50, 99, 100))


def ms(seconds: list[float], q: float) -> str:
    return f"{(percentile(seconds, q) or 0.0) * 1e3:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the load")
    parser.add_argument("--factor", type=float, default=4.0, help="offered load ÷ capacity")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the engine takes for a request")
    parser.add_argument("--max-in-flight", type=int, default=8)
    parser.add_argument("--max-queue", type=int, default=32)
    options = parser.parse_args()
    with service(options) as (address, pid):
        found = asyncio.run(measure(f"{address}/generate", pid, options))
    told = faults(found)
    show(found, options, told)
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()
