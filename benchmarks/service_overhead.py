"""What the service costs: ``POST /generate`` and ``/score`` beside a bare FastAPI route that parses the same body.

    python benchmarks/service_overhead.py [--seconds 1.0] [--rounds 5] [--concurrency 1 16 64 256]

The engine answers at once, so that what is measured is ours: parsing, admission, deadline, disconnect watch, metrics
and the flight recorder, all on. The servers run side by side under the same uvicorn settings; the load comes from this
process over raw sockets, in rounds that take turns, so that a noisy machine is noisy for all. Read the ratio, not the
rates.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.stats import percentile
from assay.core.types import Completion, Request
from assay.engines.base import EngineHealth, EngineInfo
from assay.judges import build_judge
from assay.scoring.cache import VerdictCache
from assay.scoring.recorder import Recorder
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.server import bind
from assay.service.settings import ServiceSettings
from assay.wire.generate import GenerateBody

TARGET = 0.6
QUESTION = "A train leaves at 9:40 and needs 135 minutes. When does it arrive? " * 8
GENERATE = {
    "messages": [{"role": "user", "content": QUESTION + "#NUMBER##"}],
    "sampling_params": {"temperature": 0.2},
}
SCORE = {
    "judge": "verifier",
    "item": {"prompt": QUESTION, "candidates": ["Answer: #NUMBER##"], "reference": "11:55"},
}


class NoOpEngine:
    """Says ``1`` at once."""

    info = EngineInfo(model="no-op", weight_version="0", capabilities=frozenset({"chat"}))

    async def start(self) -> None: ...

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:  # noqa: ARG002
        return (Completion(request_id=request.id, text="1", prompt_tokens=170, completion_tokens=1, model="no-op"),)

    async def health(self) -> EngineHealth:
        return EngineHealth(healthy=True, state="ready")

    async def close(self) -> None: ...


def bare_app() -> FastAPI:
    app = FastAPI()

    @app.post("/genrm/generate")
    async def generate(_: GenerateBody) -> dict[str, str]:
        return {"response": "1"}

    return app


def assay_app(folder: Path, cache: VerdictCache | None = None) -> FastAPI:
    scorer = Scorer(NoOpEngine(), cache=cache, recorder=Recorder(folder))
    judges = {"verifier": build_judge("verifier")}
    return create_app(Hub(instances={"__default__": scorer}, judges=judges), ServiceSettings())


@dataclass(frozen=True)
class Variant:
    """A route, and what is sent to it."""

    name: str
    server: str
    path: str
    body: dict[str, Any]


VARIANTS = (
    Variant("bare FastAPI", "bare", "/genrm/generate", GENERATE),
    Variant("/generate", "assay", "/genrm/generate", GENERATE),
    Variant("/score", "assay", "/genrm/score", SCORE),
)


@dataclass
class Measured:
    """Requests a second of each round, and the latencies of all."""

    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One connection: sends the next request as soon as the last is answered. Numbers make every body another one."""

    number = 0

    def __init__(self, variant: Variant, stop_at: float, done: asyncio.Future[None]) -> None:
        body = json.dumps(variant.body).replace("#NUMBER##", "000000000").encode()
        head = (
            f"POST {variant.path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._before, self._after = (head.encode() + body).split(b"000000000")
        self._stop_at, self._done = stop_at, done
        self._buffer = b""
        self._begin = 0.0
        self.seconds: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._whole():
            return
        now = time.perf_counter()
        if not self._buffer.startswith(b"HTTP/1.1 200"):
            self._done.set_exception(RuntimeError(f"not a 200: {self._buffer[:400]!r}"))
        elif now < self._stop_at:
            self.seconds.append(now - self._begin)
            self._buffer = b""
            self._send()
        else:
            self._done.set_result(None)
        if self._done.done():
            self._transport.close()

    def _whole(self) -> bool:
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return False
        at = self._buffer.find(b"content-length: ") + 16
        return len(self._buffer) >= head_end + 4 + int(self._buffer[at : self._buffer.find(b"\r", at)])

    def _send(self) -> None:
        Client.number += 1
        self._begin = time.perf_counter()
        self._transport.write(b"%s%09d%s" % (self._before, Client.number, self._after))


async def load(variant: Variant, port: int, concurrency: int, seconds: float, into: Measured) -> None:
    """One round."""
    loop = asyncio.get_running_loop()
    begin = time.perf_counter()
    done = [loop.create_future() for _ in range(concurrency)]
    clients = [Client(variant, begin + seconds, future) for future in done]
    for client in clients:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
    await asyncio.gather(*done)
    took = time.perf_counter() - begin
    latencies = [latency for client in clients for latency in client.seconds]
    into.rates.append(len(latencies) / took)
    into.seconds.extend(latencies)


@contextmanager
def server(kind: str) -> Generator[int]:
    """A server process; gives its port once it listens."""
    command = [sys.executable, __file__, "--serve", kind]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def serve(kind: str) -> None:
    """The server process: either app, same socket, same uvicorn settings."""
    listener = bind("127.0.0.1", 0)
    with tempfile.TemporaryDirectory() as folder:
        cache = VerdictCache() if kind == "cached" else None
        app = bare_app() if kind == "bare" else assay_app(Path(folder), cache)
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])


def measure(concurrencies: list[int], rounds: int, seconds: float) -> dict[tuple[int, str], Measured]:
    results: dict[tuple[int, str], Measured] = {}
    with ExitStack() as stack:
        ports = {kind: stack.enter_context(server(kind)) for kind in ("bare", "assay")}
        for variant in VARIANTS:
            asyncio.run(load(variant, ports[variant.server], 8, 1.0, Measured()))  # warm-up
        for concurrency in concurrencies:
            for _ in range(rounds):
                for variant in VARIANTS:
                    into = results.setdefault((concurrency, variant.name), Measured())
                    asyncio.run(load(variant, ports[variant.server], concurrency, seconds, into))
    return results


def show(results: dict[tuple[int, str], Measured], rounds: int, seconds: float) -> None:
    table = Table(title=f"Service overhead, no-op engine: median of {rounds} rounds of {seconds:g} s")
    for column in ("concurrency", "route", "req/s", "÷ bare", "p50 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "route" else "right")
    for (concurrency, name), measured in results.items():
        rate = statistics.median(measured.rates)
        # Of the rounds side by side, not of the medians: neighbours in time shared the machine's mood.
        bare = results[concurrency, VARIANTS[0].name].rates
        ratio = statistics.median(own / other for own, other in zip(measured.rates, bare, strict=True))
        p50, p99 = (percentile(measured.seconds, q) or 0.0 for q in (50, 99))
        mark = "" if name != "/generate" else " ✓" if ratio >= TARGET else f" (target {TARGET})"
        table.add_row(
            str(concurrency),
            name,
            f"{rate:,.0f}",
            f"{ratio:.2f}{mark}",
            f"{p50 * 1e3:.2f}",
            f"{p99 * 1e3:.2f}",
            end_section=name == VARIANTS[-1].name,
        )
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--serve", choices=["bare", "assay", "cached"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    show(measure(options.concurrency, options.rounds, options.seconds), options.rounds, options.seconds)


if __name__ == "__main__":
    main()
