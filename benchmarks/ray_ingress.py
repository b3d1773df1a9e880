"""What Ray costs on the way in, and the way around it: requests/s through Serve's proxy and through direct endpoints.

    python benchmarks/ray_ingress.py [--seconds 1.5] [--rounds 5] [--concurrency 16 64] [--ingress 2]

Four ways to the same short answer, side by side, in rounds that take turns: a bare FastAPI app on Ray Serve that parses
the same body and does nothing; our app on Ray Serve through the proxy; our app on uvicorn, no Ray; and our app on Ray
through the endpoints that it hands out, where Ray still places and supervises the engines. The engine is the fake one;
on Ray it is an actor in a placement group, behind its pool. Load and servers share the machine: read the ratios, and
where other things run too, the CPU time of a request over all processes of its server (Linux).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from rich.console import Console
from rich.table import Table

from assay.core import log
from assay.core.stats import percentile
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.ray.run import joined, running
from assay.service.ray.settings import RaySettings
from assay.service.ray.spec import IngressSpec
from assay.service.server import serve
from assay.service.settings import ServiceSettings
from assay.wire.generate import GenerateBody
from service_overhead import GENERATE, Measured, Variant, load

TARGET = 0.8
CONFIG = ServeConfig.model_validate({"genrm": {"genrm_model_path": "fake"}, "engine": "fake"})
SETTINGS = ServiceSettings(port=0, drain_s=2)


@dataclass(frozen=True)
class Way:
    """A way to the answer: the ports that share the load, and the path."""

    name: str
    session: int
    """Of its server's processes, all of them."""
    ports: tuple[int, ...]
    path: str = "/genrm/generate"


@dataclass
class Rounds:
    """Requests a second of each round, the latencies of all, and the CPU seconds that the server took for them."""

    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


async def one_round(way: Way, concurrency: int, seconds: float, into: Rounds) -> None:
    variant = Variant(way.name, "", way.path, GENERATE)
    shares = [Measured() for _ in way.ports]
    each = concurrency // len(way.ports)
    before = cpu_s(way.session)
    await asyncio.gather(
        *(load(variant, port, each, seconds, share) for port, share in zip(way.ports, shares, strict=True))
    )
    into.rates.append(sum(share.rates[0] for share in shares))
    into.seconds.extend(latency for share in shares for latency in share.seconds)
    into.cpu_s += cpu_s(way.session) - before


def cpu_s(session: int) -> float:
    """CPU seconds of all processes of a session, so far. Unlike a rate it hardly depends on what else runs."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(ways: list[Way], concurrencies: list[int], rounds: int, seconds: float) -> dict[tuple[int, str], Rounds]:
    results: dict[tuple[int, str], Rounds] = {}
    for way in ways:
        asyncio.run(one_round(way, 8, 1.0, Rounds()))  # warm-up
    for concurrency in concurrencies:
        for _ in range(rounds):
            for way in ways:
                into = results.setdefault((concurrency, way.name), Rounds())
                asyncio.run(one_round(way, concurrency, seconds, into))
    return results


def show(results: dict[tuple[int, str], Rounds], rounds: int, seconds: float, ingress: int) -> None:
    table = Table(title=f"Ways in, fake engine: median of {rounds} rounds of {seconds:g} s, {os.cpu_count()} cores")
    for column in ("concurrency", "way", "req/s", "÷ uvicorn", "p50 ms", "p99 ms", "CPU µs/req"):
        table.add_column(column, justify="left" if column == "way" else "right")
    last = list(results)[-1][1]
    for (concurrency, name), measured in results.items():
        p50, p99 = (percentile(measured.seconds, q) or 0.0 for q in (50, 99))
        ratio = _ratio(results, concurrency, name)
        mark = "" if not name.startswith("direct") else " ✓" if ratio >= TARGET else f" (target {TARGET})"
        table.add_row(
            str(concurrency),
            name,
            f"{statistics.median(measured.rates):,.0f}",
            f"{ratio:.2f}{mark}",
            f"{p50 * 1e3:.1f}",
            f"{p99 * 1e3:.1f}",
            f"{measured.cpu_s / len(measured.seconds) * 1e6:,.0f}",
            end_section=name == last,
        )
    Console(width=100).print(table)
    print(meaning(results, ingress))


def meaning(results: dict[tuple[int, str], Rounds], ingress: int) -> str:
    """What the figures say about the number of ingress replicas."""
    most = max(concurrency for concurrency, _ in results)
    proxy, one = (statistics.median(results[most, name].rates) for name in ("our app, proxy", "direct, one"))
    all_ = statistics.median(results[most, "direct, all"].rates)
    enough = math.ceil(proxy / one)
    return (
        f"One ingress replica answers {one:,.0f} requests/s and the proxy of a node passes on {proxy:,.0f}, so behind "
        f"one proxy {enough} replica{'s' if enough > 1 else ''} would do and a second one is for availability; to "
        f"callers that take the direct endpoints {ingress} replicas answer {all_:,.0f}, and each further {one:,.0f} "
        f"requests/s need another replica, and a core for it."
    )


def _ratio(results: dict[tuple[int, str], Rounds], concurrency: int, name: str) -> float:
    """Of the rounds side by side, not of the medians: neighbours in time shared the machine's mood."""
    own, plain = results[concurrency, name].rates, results[concurrency, "our app, uvicorn"].rates
    return statistics.median(a / b for a, b in zip(own, plain, strict=True))


@contextmanager
def server(*kind: str) -> Generator[tuple[str, int]]:
    """A server process in a session of its own; gives its base URL once it is ready, and the session."""
    command = [sys.executable, __file__, "--serve", *kind]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            words = (word for line in process.stdout for word in line.split())
            yield next(word for word in words if word.startswith("http://127")), process.pid
        finally:
            process.terminate()
            process.communicate()


def serve_kind(kind: str, ingress: int) -> None:
    """The server process."""
    log.setup("warning")
    if kind == "uvicorn":
        serve(create_app(assemble(CONFIG), SETTINGS), SETTINGS)
    else:
        spec = IngressSpec(
            config=CONFIG, settings=SETTINGS, ray=RaySettings(num_gpus=1, num_ingress=ingress, log_level="warning")
        )
        asyncio.run(on_ray(spec))


async def on_ray(spec: IngressSpec) -> None:
    """Our app and the bare one on one Ray, until this process is told to end."""
    import signal

    from ray import serve as ray_serve

    with joined(spec):
        async with running(spec) as url:
            deployment: Any = ray_serve.deployment(ray_serve.ingress(bare_app)())
            options = {"num_replicas": spec.ray.num_ingress, "max_ongoing_requests": 1000}
            quiet = {"enable_access_log": False, "log_level": "WARNING"}
            application = deployment.options(ray_actor_options={"num_cpus": 0}, logging_config=quiet, **options).bind()
            await asyncio.to_thread(ray_serve.run, application, name="bare", route_prefix="/bare")
            ended = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
            print(url, flush=True)
            await ended.wait()


def bare_app() -> FastAPI:
    """Built in the replica, from this function as data: annotations of this module would not be found there."""
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response

    async def generate(request: Request) -> Response:
        GenerateBody.model_validate_json(await request.body())
        return JSONResponse({"response": "1"})

    app = FastAPI()
    app.router.add_route("/generate", generate, methods=["POST"])
    return app


def ways(plain: tuple[str, int], ray: tuple[str, int]) -> list[Way]:
    on_ray, session = ray
    with urllib.request.urlopen(f"{on_ray}/endpoints") as reply:
        direct = tuple(_port(url) for url in json.load(reply)["endpoints"])
    return [
        Way("bare Ray Serve", session, (_port(on_ray),), "/bare/generate"),
        Way("our app, proxy", session, (_port(on_ray),)),
        Way("our app, uvicorn", plain[1], (_port(plain[0]),)),
        Way("direct, one", session, direct[:1]),
        Way("direct, all", session, direct),
    ]


def _port(url: str) -> int:
    return urlsplit(url).port or 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--ingress", type=int, default=2, help="ingress replicas")
    parser.add_argument("--serve", choices=["uvicorn", "ray"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_kind(options.serve, options.ingress)
        return
    with ExitStack() as stack:
        plain = stack.enter_context(server("uvicorn"))
        on_ray_ = stack.enter_context(server("ray", "--ingress", str(options.ingress)))
        results = measure(ways(plain, on_ray_), options.concurrency, options.rounds, options.seconds)
    show(results, options.rounds, options.seconds, options.ingress)


if __name__ == "__main__":
    main()
