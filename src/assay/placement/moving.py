"""Seconds of a step in which nobody computes: engines fall asleep and wake, the actor moves, weights travel."""

from __future__ import annotations

from dataclasses import dataclass

from .cluster import Cluster
from .job import Job
from .plans import Claim, Kind, Mode, PlacementPlan
from .speed import CANARY, DRAIN, HOST_LINK, STATES_LINK, SYNC, SYNC_RATE
from .trainer import states_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """Seconds of each kind, once a step."""

    sleep: float
    wake: float
    sync: float
    actor_wake: float
    actor_sleep: float


def moving_seconds(plan: PlacementPlan, cluster: Cluster, job: Job) -> Moving:
    """Measured where it was; else bytes over the host link, judges with their backup, the rollout without one."""
    rates, on_gpu = job.rates, cluster.card.name != "CPU"
    judges = max((_weights(claim, job) for claim in plan.claims.values() if claim.kind == Kind.JUDGE), default=0.0)
    states = states_bytes(job.policy, job.training) / len(plan.claims["actor"].gpus)
    swapped = judges / HOST_LINK if on_gpu else 0.0
    states_s = states / STATES_LINK if on_gpu and plan.mode != Mode.FULLY_ASYNC else 0.0
    fixed = (DRAIN, CANARY, SYNC) if on_gpu else (0.0, 0.0, 0.0)
    moved = job.policy.stored / SYNC_RATE if on_gpu else 0.0
    if states_s:
        # The actor sleeps: its weights come out of main memory, in 32 bit.
        moved += 2 * job.policy.stored / len(plan.claims["actor"].gpus) / STATES_LINK
    return Moving(
        sleep=_or(rates.sleep_s, fixed[0] + swapped),
        wake=_or(rates.wake_s, fixed[1] + swapped),
        sync=_or(rates.sync_s, fixed[2] + moved),
        actor_wake=_or(rates.actor_wake_s, states_s),
        actor_sleep=_or(rates.actor_sleep_s, states_s),
    )


def _weights(claim: Claim, job: Job) -> float:
    shape = job.judges.get(claim.name)
    return shape.stored / len(claim.engines[0]) if shape is not None and claim.engines else 0.0


def _or(measured: float | None, assumed: float) -> float:
    return assumed if measured is None else measured
