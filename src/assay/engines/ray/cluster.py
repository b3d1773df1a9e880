"""The cluster as placement needs it: its nodes, a placement group, and where the bundles of that came to be."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assay.core.errors import StartError

from .placement import Node, Plan, Spot


class Bundled(Protocol):
    """A plan, as far as its bundles go."""

    @property
    def bundles(self) -> Sequence[Mapping[str, float]]: ...


def nodes() -> dict[str, Node]:
    """The nodes that are alive, by Ray's id of them; named by their address where that tells them apart."""
    import ray

    alive: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]
    shared = Counter(node["NodeManagerAddress"] for node in alive)
    found: dict[str, Node] = {}
    for node in alive:
        address, node_id = node["NodeManagerAddress"], node["NodeID"]
        name = address if shared[address] == 1 else f"{address}/{node_id[:8]}"
        resources = node["Resources"]
        found[node_id] = Node(name=name, gpus=int(resources.get("GPU", 0)), cpus=int(resources.get("CPU", 0)))
    return found


async def reserve(plan: Plan, name: str, timeout_s: float) -> Any:
    """A placement group with the plan's bundles; it stays when its maker dies. None for a plan without bundles.

    Raises:
        StartError: the cluster found no room in time; the message says what is free.
    """
    if not plan.bundles:
        return None
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group([dict(bundle) for bundle in plan.bundles], strategy="PACK", name=name, lifetime="detached")
    if await asyncio.to_thread(group.wait, timeout_s):
        return group
    free = ray.available_resources()
    remove_placement_group(group)
    need = Counter[str]()
    for bundle in plan.bundles:
        need.update({what: int(count) for what, count in bundle.items()})
    told = ", ".join(f"{count} {what}s are needed and {free.get(what, 0):g} are free" for what, count in need.items())
    raise StartError(f"the cluster found no room within {timeout_s:g} s: {told}; something else has them")


async def locate(plan: Bundled, group: Any) -> list[Spot]:
    """Where each bundle is. Asks a task in each one with a GPU which device it was given."""
    if group is None:
        return []
    from ray.util.placement_group import placement_group_table

    table: Any = placement_group_table(group)
    where: dict[int, str] = table["bundles_to_node_id"]
    known = nodes()
    devices = await asyncio.gather(*(_device(plan, group, bundle) for bundle in range(len(plan.bundles))))
    return [Spot(bundle=bundle, node=known[where[bundle]].name, device=device) for bundle, device in enumerate(devices)]


async def _device(plan: Bundled, group: Any, bundle: int) -> str | None:
    if "GPU" not in plan.bundles[bundle]:
        return None
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    probe: Any = ray.remote(own_gpus)
    strategy = PlacementGroupSchedulingStrategy(group, bundle)
    return (await probe.options(num_cpus=1, num_gpus=1, scheduling_strategy=strategy).remote())[0]


def own_gpus() -> tuple[str, ...]:
    """The GPUs that Ray gave to this task or actor: indices on this node, or UUIDs."""
    import ray

    return tuple(map(str, ray.get_gpu_ids()))


def own_address() -> str:
    """The address under which other nodes reach this one."""
    import ray

    return str(ray.util.get_node_ip_address())


def own_node_id() -> str:
    """Ray's id of the node that this process is on."""
    import ray

    return str(ray.get_runtime_context().get_node_id())


def own_node_is_head() -> bool:
    """Whether this process is on the cluster's head node."""
    import ray

    own = own_node_id()
    return any(node["NodeID"] == own and "node:__internal_head__" in node["Resources"] for node in ray.nodes())
