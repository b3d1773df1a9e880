"""What routing does to latency, balance and cache hits, by simulation: ours beside taking turns and chance.

    python benchmarks/routing_simulation.py [--replicas 4] [--requests 4000] [--seed 0]

Load is 50 to 70 % of what the replicas could do at a hit rate of 40 %. A request is a judge prompt: instructions that
all share, a question that the eight answers of a group share, and an answer of its own; at most 60 % can be hit.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from assay.engines.pool.routing import Router
from assay.engines.pool.simulation import AtRandom, Job, Replica, RoundRobin, Routing, simulate
from assay.engines.pool.tokens import CHUNK_TOKENS

SPEED = 2000.0
GROUP = 8
SHARED, QUESTION, ANSWER = 2, 6, 4
"""Chunks of the instructions, of the question, of the answer."""


@dataclass(frozen=True)
class Scene:
    """``reply`` draws a reply's length; ``change`` changes some replicas; ``hot``: share of groups on one question."""

    name: str
    reply: Callable[[random.Random], int]
    change: Callable[[list[Replica]], None] = lambda _: None
    hot: float = 0.0
    load: float = 0.7


def short(rng: random.Random) -> int:
    return rng.randint(100, 300)


def mixed(rng: random.Random) -> int:
    return rng.randint(1500, 3000) if rng.random() < 0.1 else rng.randint(20, 150)


def slow_one(replicas: list[Replica]) -> None:
    replicas[0].speed /= 10


def dying_one(replicas: list[Replica]) -> None:
    replicas[0].dies_at = 20.0


SCENES = (
    Scene("even", short),
    Scene("mixed lengths", mixed),
    Scene("hot question", short, hot=0.5),
    Scene("one replica 10 x slower", short, slow_one, load=0.5),
    Scene("one replica dies", short, dying_one, load=0.5),
)


def jobs_of(scene: Scene, replicas: int, requests: int, seed: int) -> list[Job]:
    rng = random.Random(seed)
    prompt = (SHARED + QUESTION + ANSWER) * CHUNK_TOKENS
    mean_work = 0.1 * prompt * 0.6 + sum(scene.reply(rng) for _ in range(500)) / 500
    gap = GROUP * mean_work / (SPEED * replicas * scene.load)
    jobs: list[Job] = []
    at = 0.0
    for group in range(requests // GROUP):
        at += rng.expovariate(1 / gap)
        question = 0 if rng.random() < scene.hot else group + 1
        for answer in range(GROUP):
            parts = [("shared", i) for i in range(SHARED)] + [(question, i) for i in range(QUESTION)]
            keys = (*map(hash, parts), *(hash((group, answer, i)) for i in range(ANSWER)))
            jobs.append(Job(at=at + 0.01 * answer, keys=keys, prompt=prompt, reply=scene.reply(rng)))
    return jobs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--affinity", type=float, default=0.5)
    asked = parser.parse_args()
    routings: dict[str, Callable[[], Routing]] = {
        "tokens + affinity": lambda: Router(affinity=asked.affinity, entries=32_768, seed=asked.seed),
        "tokens": lambda: Router(affinity=0.0, entries=32_768, seed=asked.seed),
        "in turn": RoundRobin,
        "at random": lambda: AtRandom(asked.seed),
    }
    table = Table(
        "scene",
        "routing",
        "p50 s",
        "p99 s",
        "cache hits",
        "imbalance",
        "lost",
        title=f"{asked.replicas} simulated replicas",
    )
    for scene in SCENES:
        jobs = jobs_of(scene, asked.replicas, asked.requests, asked.seed)
        for name, routing in routings.items():
            replicas = [Replica(SPEED) for _ in range(asked.replicas)]
            scene.change(replicas)
            got = simulate(routing(), replicas, jobs)
            figures = (f"{got.p50_s:.2f}", f"{got.p99_s:.2f}", f"{got.hit_share:.0%}", f"{got.imbalance:.2f}")
            table.add_row(scene.name, name, *figures, str(got.lost))
        table.add_section()
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
