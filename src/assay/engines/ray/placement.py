"""Which engine gets which GPUs, worked out before anything starts. Pure: numbers in, a plan or a refusal out.

One bundle per GPU. Instances take GPUs by prefix sum in declaration order; a GPU's logical index is its place among all
bundles sorted by (node, device). Engines without GPUs have a bundle with one CPU each, after those of the GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from assay.core.errors import InputError, StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one instance asks for; ``gpus`` of each engine, 0 for engines that run on a CPU."""

    route_key: str
    engines: int
    gpus: int

    def __str__(self) -> str:
        engines = f"{self.engines} engine{'s' if self.engines > 1 else ''}"
        return f"{self.route_key!r} {engines} x {f'{self.gpus} GPUs' if self.gpus else '1 CPU'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one machine of the cluster has in all, whether or not it is in use."""

    name: str
    gpus: int
    cpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a bundle came to be; ``device``: index (or UUID) of its GPU on that node, None for a bundle without."""

    bundle: int
    node: str
    device: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one engine goes: into ``bundle``, with the GPUs ``devices`` of ``node`` (none: it runs on the CPU)."""

    bundle: int
    node: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The bundles to ask for, those with a GPU first, and whose they are."""

    demands: tuple[Demand, ...]
    bundles: tuple[Mapping[str, float], ...] = field(init=False)

    def __post_init__(self) -> None:
        cpu_engines = sum(demand.engines for demand in self.demands if not demand.gpus)
        gpus = sum(demand.engines * demand.gpus for demand in self.demands)
        object.__setattr__(self, "bundles", ({"CPU": 1.0, "GPU": 1.0},) * gpus + ({"CPU": 1.0},) * cpu_engines)

    def shares(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Route key and logical bundles of each engine, in declaration order."""
        gpu, cpu = 0, sum("GPU" in bundle for bundle in self.bundles)
        for demand in self.demands:
            for _ in range(demand.engines):
                if demand.gpus:
                    yield demand.route_key, tuple(range(gpu, gpu + demand.gpus))
                    gpu += demand.gpus
                else:
                    yield demand.route_key, (cpu,)
                    cpu += 1


def make_plan(demands: Sequence[Demand], nodes: Sequence[Node]) -> Plan:
    """The plan for these instances on this cluster.

    Raises:
        InputError: it cannot be placed even when nothing else runs; the message has all the numbers.
    """
    plan = Plan(demands=tuple(demands))
    need_gpus = sum("GPU" in bundle for bundle in plan.bundles)
    for what, need, have in (
        ("GPUs", need_gpus, {node.name: node.gpus for node in nodes}),
        ("CPUs", len(plan.bundles), {node.name: node.cpus for node in nodes}),
    ):
        if need > sum(have.values()):
            raise InputError(
                f"the engines need {need} {what} ({_joined(demands)}) and the cluster has {sum(have.values())} "
                f"({_joined(f'{name}: {count}' for name, count in have.items())}): "
                f"lower num_gpus or num_gpus_per_engine, or add nodes"
            )
    _check_whole(plan, sorted((node.gpus for node in nodes), reverse=True))
    return plan


def place(plan: Plan, spots: Sequence[Spot]) -> dict[str, tuple[Place, ...]]:
    """Where the engines of each instance go, now that the bundles are somewhere.

    Raises:
        StartError: the GPUs of an engine are on different nodes.
    """
    ordered = sorted(
        spots, key=lambda spot: (spot.device is None, natural(spot.node), natural(spot.device or ""), spot.bundle)
    )
    places: dict[str, tuple[Place, ...]] = {demand.route_key: () for demand in plan.demands}
    for key, share in plan.shares():
        own = [ordered[index] for index in share]
        if len({spot.node for spot in own}) > 1:
            where = _joined(f"GPU {index} on {spot.node}" for index, spot in zip(share, own, strict=True))
            raise StartError(f"instance {key!r}: the GPUs of one engine must be on one node, and are not: {where}")
        devices = tuple(spot.device for spot in own if spot.device is not None)
        places[key] += (Place(bundle=own[0].bundle, node=own[0].node, devices=devices),)
    return places


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """A key that sorts 10.0.0.9 before 10.0.0.10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple(("", int(part)) if part.isdecimal() else (part, 0) for part in parts)


def _check_whole(plan: Plan, sizes: Sequence[int]) -> None:
    """No engine may cross from one node to the next when the largest nodes are filled first."""
    edges = set(accumulate(sizes))
    for key, share in plan.shares():
        inside = set(share[1:])
        if crossed := sorted(edge for edge in edges if edge in inside):
            raise InputError(
                f"instance {key!r}: the GPUs {share[0]} to {share[-1]} of one engine cross from one node to another "
                f"at GPU {crossed[0]} (GPUs of the nodes: {_joined(str(size) for size in sizes)}); choose a "
                f"num_gpus_per_engine that fills nodes evenly, or another order of the instances"
            )


def _joined(parts: Iterable[object]) -> str:
    return ", ".join(str(part) for part in parts)
