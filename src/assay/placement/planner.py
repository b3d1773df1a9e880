"""Flags and cluster to a plan: the one place where the rules meet. Nothing starts before this has said yes."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from .claims import fraction_warnings, make_claims
from .cluster import Cluster
from .flags import PlacementFlags
from .modes import choose_mode
from .phases import make_phases
from .plans import Mode, PlacementPlan

_PLANS = TypeAdapter(PlacementPlan)


def place(flags: PlacementFlags, cluster: Cluster) -> PlacementPlan:
    """The plan, without a forecast.

    Raises:
        InputError: the flags make no legal layout on this cluster; the message has the numbers and the fix.
    """
    counts = flags.counts()
    mode = choose_mode(flags, counts, cluster.size)
    claims = make_claims(mode, flags, counts, cluster)
    warnings = (*fraction_warnings(mode, claims), *_warnings(mode, flags, counts, cluster))
    used = sum(counts.values()) if mode == Mode.FULLY_ASYNC else counts["actor"]
    without = sum(not claim.engines for claim in claims.values())
    return PlacementPlan(
        mode=mode,
        cluster=str(cluster),
        bundles=({"CPU": 1.0, "GPU": 1.0},) * used + ({"CPU": 1.0},) * without,
        claims=claims,
        phases=make_phases(mode, claims),
        inline_reward=mode != Mode.DEFER_SWAP,
        max_staleness=_staleness(mode, flags),
        warnings=warnings,
    )


def dump_plan(plan: PlacementPlan) -> dict[str, Any]:
    """JSON-able; ``load_plan`` gives an equal plan."""
    return _PLANS.dump_python(plan, mode="json")


def load_plan(data: dict[str, Any]) -> PlacementPlan:
    """The plan of ``dump_plan``. Raises pydantic's ValidationError for what is none."""
    return _PLANS.validate_python(data)


def _staleness(mode: Mode, flags: PlacementFlags) -> int:
    if mode != Mode.FULLY_ASYNC:
        return 0
    return 1 if flags.max_staleness is None else flags.max_staleness


def _warnings(mode: Mode, flags: PlacementFlags, counts: dict[str, int], cluster: Cluster) -> tuple[str, ...]:
    found: list[str] = []
    used = sum(counts.values()) if mode == Mode.FULLY_ASYNC else counts["actor"]
    if used < cluster.size:
        found.append(f"{cluster.size - used} of the {cluster.size} GPUs have no role")
    if mode != Mode.FULLY_ASYNC and flags.max_staleness:
        found.append(f"--max-staleness {flags.max_staleness} has no effect with --colocate: every sample is fresh")
    if mode != Mode.DEFER_SWAP and flags.rm_type == "dummy" and counts.get("genrm"):
        found.append(
            "--rm-type dummy: the judges have GPUs and nothing asks them without --defer-reward-to-post-process"
        )
    return tuple(found)
