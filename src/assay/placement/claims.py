"""Who has which GPUs: prefix sums in declaration order, engines whole on their nodes, shares of cards that add up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from assay.core.errors import InputError
from assay.wire.genrm import InstanceSpec

from .cluster import Cluster
from .flags import PlacementFlags
from .plans import Claim, Kind, Mode, ray_share

ALONE = 0.85
"""Share of a card for an engine that has it to itself while awake, and sleeps on it while others are."""

WARN_FROM = 0.9
"""Shares of a card beyond this sum leave little for CUDA graphs and activations."""

TRAINERS = {"actor": Kind.TRAIN, "reference": Kind.FORWARD, "actor_fwd": Kind.FORWARD, "advantages": Kind.CPU}


def make_claims(mode: Mode, flags: PlacementFlags, counts: Mapping[str, int], cluster: Cluster) -> dict[str, Claim]:
    """The claims by role and route key, in the order of ``counts``.

    Raises:
        InputError: more GPUs than there are, engines that do not fill their GPUs, or one that crosses a node.
    """
    need = sum(counts.values()) if mode == Mode.FULLY_ASYNC else counts["actor"]
    if need > cluster.size:
        parts = ", ".join(f"{role} {count}" for role, count in counts.items())
        raise InputError(f"{mode} needs {need} GPUs ({parts}) and the cluster {cluster} has {cluster.size}")
    claims = {claim.name: claim for claim in _placed(mode, flags, counts, need)}
    for claim in claims.values():
        _check_whole(claim, cluster)
    return {name: replace(claim, ray_share=_share(claim, claims.values())) for name, claim in claims.items()}


def fraction_warnings(mode: Mode, claims: Mapping[str, Claim]) -> tuple[str, ...]:
    """What to say about shares of a card that two engines have at the same time.

    Raises:
        InputError: a share is not said, or they take the whole card.
    """
    if mode != Mode.CO_RESIDENT:
        return ()
    rollout, warnings = claims["rollout"], list[str]()
    for judge in (claim for claim in claims.values() if claim.kind == Kind.JUDGE and claim.engines):
        if rollout.fraction is None or judge.fraction is None:
            missing = "--sglang-mem-fraction-static" if rollout.fraction is None else _judge_flag(judge)
            raise InputError(
                f"co-resident: rollout and judge {judge.name!r} are awake on the same cards, so {missing} is required; "
                "a usual start is 0.6 for the rollout and 0.3 for the judge"
            )
        total = round(rollout.fraction + judge.fraction, 6)
        told = f"rollout {rollout.fraction:g} + {judge.name} {judge.fraction:g} = {total:g} of each card"
        if total >= 1:
            raise InputError(f"co-resident: {told}; the sum must be below 1.0, and 0.9 or less is advised")
        if total > WARN_FROM:
            warnings.append(f"{told}: more than 0.9 leaves little for CUDA graphs and activations")
    return tuple(warnings)


def _placed(mode: Mode, flags: PlacementFlags, counts: Mapping[str, int], need: int) -> Iterator[Claim]:
    """Claims in order; in the fully asynchronous mode pools follow each other, elsewhere they start at 0."""
    start, cpu = 0, need
    for role, count in counts.items():
        apart = mode == Mode.FULLY_ASYNC
        first = start if apart else counts["rollout"] if mode == Mode.SPLIT and role == "genrm" else 0
        for claim in _of_role(role, count, first, mode, flags):
            if claim.bundles:
                yield claim
            else:
                yield replace(claim, bundles=(cpu,))
                cpu += 1
        start += count if apart else 0


def _of_role(role: str, count: int, first: int, mode: Mode, flags: PlacementFlags) -> Iterator[Claim]:
    if role == "genrm":
        yield from _judges(flags.specs().values(), first, mode)
    elif role == "rollout":
        fraction = flags.sglang_mem_fraction_static or (ALONE if mode == Mode.DEFER_SWAP else None)
        each = flags.rollout_num_gpus_per_engine
        _check_even("--rollout-num-gpus", count, each, "--rollout-num-gpus-per-engine")
        yield _claim("rollout", Kind.ROLLOUT, first, count, each, fraction)
    else:
        kind = TRAINERS[role] if count else Kind.CPU
        yield _claim(role, kind, first, count, 1, None)


def _judges(specs: Iterable[InstanceSpec], first: int, mode: Mode) -> Iterator[Claim]:
    for spec in specs:
        _check_even(
            f"judge {spec.route_key!r}: num_gpus", spec.num_gpus, spec.num_gpus_per_engine, "num_gpus_per_engine"
        )
        fraction = spec.engine.mem_fraction_static or (ALONE if mode == Mode.DEFER_SWAP else None)
        yield _claim(spec.route_key, Kind.JUDGE, first, spec.num_gpus, spec.num_gpus_per_engine, fraction)
        first += spec.num_gpus


def _claim(name: str, kind: Kind, first: int, count: int, each: int, fraction: float | None) -> Claim:
    engines = tuple(tuple(range(at, at + each)) for at in range(first, first + count, each))
    return Claim(name=name, kind=kind, engines=engines, bundles=tuple(range(first, first + count)), fraction=fraction)


def _check_even(what: str, count: int, each: int, per: str) -> None:
    if count % each:
        fits = ", ".join(str(size) for size in range(1, count + 1) if count % size == 0)
        raise InputError(f"{what}={count} does not divide by {per}={each}; sizes of an engine that do: {fits}")


def _check_whole(claim: Claim, cluster: Cluster) -> None:
    """An engine that crosses from one node to another must have all the GPUs of both."""
    if claim.kind not in (Kind.ROLLOUT, Kind.JUDGE):
        return
    edges = cluster.edges
    for engine in claim.engines:
        first, end = engine[0], engine[-1] + 1
        crossed = [edge for edge in edges if first < edge < end]
        if crossed and not (first in edges and end in edges):
            raise InputError(
                f"{claim.name!r}: an engine on GPUs {first} to {end - 1} crosses from one node to the next at GPU "
                f"{crossed[0]} (GPUs of the nodes: {', '.join(map(str, cluster.gpus))}), and such an engine needs "
                "whole nodes; choose another num_gpus_per_engine, or another order of the judges"
            )


def _share(claim: Claim, claims: Iterable[Claim]) -> float:
    others = [set(other.bundles) for other in claims]
    return ray_share(max(sum(bundle in own for own in others) for bundle in claim.bundles))


def _judge_flag(judge: Claim) -> str:
    return f"mem_fraction_static in the engine configuration of {judge.name!r} (--genrm-engine-config)"
