"""The placement group of a run: made from the plan's bundles, waited for with a word about what is missing.

It ends with the process that made it. Owns: asking Ray and saying how that goes. Does not own: who sits where
(``seats``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from assay.core.errors import StartError
from assay.engines.ray.cluster import locate, nodes
from assay.engines.ray.placement import Spot
from assay.placement.plans import PlacementPlan

from .seats import Seat, arranged, check_room, described, without_room

log = logging.getLogger(__name__)

_POLL_S = 5.0


@asynccontextmanager
async def reserved(
    plan: PlacementPlan, *, timeout_s: float, say: Callable[[str], None] = log.info
) -> AsyncGenerator[tuple[Any, dict[str, tuple[Seat, ...]]]]:
    """Ray's placement group and the seats in it, until this is left.

    Args:
        timeout_s: how long something else may go on occupying what is needed, and how long the first workers may take.
        say: told how the reservation goes.

    Raises:
        StartError: the cluster cannot hold the plan, or not in time; names the bundle that has no place.
    """
    from ray.util.placement_group import placement_group, remove_placement_group

    check_room(plan, nodes().values())
    group: Any = placement_group([dict(bundle) for bundle in plan.bundles], strategy="PACK")
    try:
        await _ready(plan, group, timeout_s, say)
        seats = arranged(plan, await _located(plan, group, timeout_s))
        say(f"placement group: {len(plan.bundles)} bundles are there, {sum(map(len, seats.values()))} actors to start")
        yield group, seats
    finally:
        remove_placement_group(group)


async def _ready(plan: PlacementPlan, group: Any, timeout_s: float, say: Callable[[str], None]) -> None:
    begin = time.monotonic()
    while not await asyncio.to_thread(group.wait, max(0.1, min(_POLL_S, timeout_s))):
        waited = time.monotonic() - begin
        missing = _missing(plan)
        if waited >= timeout_s:
            raise StartError(f"the cluster found no room within {timeout_s:g} s: {missing}; something else has it")
        say(f"placement group: waiting for {waited:.0f} s of at most {timeout_s:.0f}: {missing}")


async def _located(plan: PlacementPlan, group: Any, timeout_s: float) -> list[Spot]:
    """Where the bundles are. Asking starts a worker in each, the first that this run has."""
    try:
        async with asyncio.timeout(timeout_s):
            return await locate(plan, group)
    except TimeoutError:
        raise StartError(
            f"no worker of Ray answered in every bundle within {timeout_s:g} s, although they are placed: see the logs "
            "of raylet and workers on their nodes (session_latest/logs in Ray's temporary folder)"
        ) from None


def _missing(plan: PlacementPlan) -> str:
    import ray

    free = {what: float(count) for what, count in ray.available_resources().items() if what in ("GPU", "CPU")}
    told = ", ".join(f"{free.get(what, 0):g} {what}s" for what in ("GPU", "CPU"))
    homeless = without_room(plan.bundles, [free])
    if homeless is None:
        return f"{len(plan.bundles)} bundles are being placed, and {told} are free"
    return f"{described(plan, homeless)} has no place among {len(plan.bundles)} bundles, and {told} are free"
