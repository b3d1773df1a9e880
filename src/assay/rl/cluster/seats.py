"""From a plan to the actors that a run has, and where each goes. Pure: a plan and places in, seats out.

The plan counts GPUs by their logical index, which is their place among all GPUs sorted by (node, device). Ray numbers
bundles as it was asked for them and puts them where it likes; ``arranged`` brings the two together once Ray has said
where each bundle came to be. Owns: who sits where, and what Ray is asked for. Does not own: the plan, or any actor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.errors import StartError
from assay.engines.ray.placement import Node, Place, Spot, natural
from assay.placement.plans import Claim, Kind, PlacementPlan

ACTORS = (Kind.TRAIN, Kind.FORWARD, Kind.ROLLOUT, Kind.JUDGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One actor: rank or engine ``index`` of ``role``, on the GPUs ``gpus`` (logical indices).

    ``share``: what it asks Ray for of its bundle, of the GPU as of the CPU, so that all who sit there fit in.
    """

    role: str
    index: int
    gpus: tuple[int, ...]
    place: Place
    share: float


def arranged(plan: PlacementPlan, spots: Sequence[Spot]) -> dict[str, tuple[Seat, ...]]:
    """The seats of every role that has actors, in the order of the plan; a judge without GPUs has one on a CPU.

    In the colocate modes ``reference`` and ``actor_fwd`` have no seats: they run in the ranks of the actor.

    Raises:
        StartError: the GPUs of one engine came to be on several nodes.
    """
    order = sorted(
        (spot for spot in spots if spot.device is not None),
        key=lambda spot: (natural(spot.node), natural(spot.device or ""), spot.bundle),
    )
    by_bundle = {spot.bundle: spot for spot in spots}
    return {
        claim.name: tuple(_seats(claim, order)) if claim.engines else (_on_cpu(claim, by_bundle),)
        for claim in actors(plan)
    }


def actors(plan: PlacementPlan) -> tuple[Claim, ...]:
    """The claims that actors are made for."""
    trained = {gpu for claim in plan.claims.values() if claim.kind == Kind.TRAIN for gpu in claim.gpus}
    return tuple(
        claim
        for claim in plan.claims.values()
        if claim.kind == Kind.JUDGE
        or (claim.kind in ACTORS and not (claim.kind == Kind.FORWARD and trained & set(claim.gpus)))
    )


def described(plan: PlacementPlan, bundle: int) -> str:
    """A bundle by what it is for."""
    who = [claim.name for claim in plan.claims.values() if bundle in claim.bundles]
    kind = "GPU" if "GPU" in plan.bundles[bundle] else "CPU bundle"
    return f"{kind} {bundle} ({', '.join(who) or 'nobody'})"


def without_room(bundles: Sequence[Mapping[str, float]], free: Iterable[Mapping[str, float]]) -> int | None:
    """The first bundle that finds no room when each goes, in order, to the first node that has it; None if all do."""
    left = [dict(node) for node in free]
    for index, bundle in enumerate(bundles):
        node = next((n for n in left if all(n.get(what, 0.0) >= need for what, need in bundle.items())), None)
        if node is None:
            return index
        for what, need in bundle.items():
            node[what] -= need
    return None


def check_room(plan: PlacementPlan, nodes: Iterable[Node]) -> None:
    """Refuse a plan that the cluster cannot hold even when nothing else runs on it.

    Raises:
        StartError: names the first bundle without a place, and what the nodes have.
    """
    known = sorted(nodes, key=lambda node: natural(node.name))
    homeless = without_room(plan.bundles, [{"GPU": float(n.gpus), "CPU": float(n.cpus)} for n in known])
    if homeless is not None:
        have = ", ".join(f"{node.name}: {node.gpus} GPUs and {node.cpus} CPUs" for node in known) or "nothing"
        raise StartError(
            f"{described(plan, homeless)} has no place on this Ray cluster: the plan for {plan.cluster} has "
            f"{len(plan.bundles)} bundles of one GPU or one CPU each, and the nodes have {have}; add nodes, or give "
            "--resource and --cluster as the cluster is"
        )


def _on_cpu(claim: Claim, spots: Mapping[int, Spot]) -> Seat:
    """Ray numbers bundles without a GPU as the plan does."""
    (bundle,) = claim.bundles
    place = Place(bundle=bundle, node=spots[bundle].node, devices=())
    return Seat(role=claim.name, index=0, gpus=(), place=place, share=1.0)


def _seats(claim: Claim, order: Sequence[Spot]) -> Iterable[Seat]:
    for index, gpus in enumerate(claim.engines):
        own = [order[gpu] for gpu in gpus]
        if len({spot.node for spot in own}) > 1:
            where = ", ".join(f"GPU {gpu} on {spot.node}" for gpu, spot in zip(gpus, own, strict=True))
            raise StartError(
                f"{claim.name!r}: an engine that crosses from one node to another cannot be started by a training "
                f"run ({where}); choose a smaller number of GPUs for each engine"
            )
        devices = tuple(spot.device for spot in own if spot.device is not None)
        place = Place(bundle=own[0].bundle, node=own[0].node, devices=devices)
        yield Seat(role=claim.name, index=index, gpus=gpus, place=place, share=claim.ray_share)
