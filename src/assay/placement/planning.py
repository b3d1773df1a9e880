"""A plan with its forecast: what is written to disk before a run, and compared with it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.core.errors import InputError

from .advice import advise
from .cluster import Cluster
from .flags import PlacementFlags
from .job import Job, Rates, Training, Workload
from .memory import estimate_memory
from .model import ModelShape
from .planner import place
from .plans import PlacementPlan
from .predict import predict


def plan(flags: PlacementFlags, cluster: Cluster, job: Job | None = None, *, compare: bool = True) -> PlacementPlan:
    """The plan; with a job also its memory, the time of a step, and (``compare``) which mode would do better.

    Raises:
        InputError: the layout is not legal, or does not fit in memory.
    """
    placed = place(flags, cluster)
    if job is None:
        return placed
    memory = estimate_memory(placed, cluster, job)
    if memory.refusals:
        raise InputError("it does not fit: " + "; ".join(memory.refusals))
    known = replace(
        placed,
        memory=memory,
        prediction=predict(placed, cluster, job),
        warnings=placed.warnings + memory.warnings,
    )
    return replace(known, advice=advise(known, flags, cluster, job)) if compare else known


def make_job(
    flags: PlacementFlags,
    policy: ModelShape,
    judges: Mapping[str, ModelShape],
    *,
    workload: Workload | None = None,
    training: Training | None = None,
    rates: Rates | None = None,
) -> Job:
    """The job of these flags.

    Raises:
        InputError: a figure is for a judge that there is none of.
    """
    specs, work, known = flags.specs(), workload or Workload(), rates or Rates()
    for what, keys in (("judge model", judges), ("workload.judges", work.judges), ("rates.judges", known.judges)):
        for key in keys:
            if key not in specs:
                raise InputError(
                    f"{what}: no judge has the route key {key!r}; configured: {', '.join(specs) or 'none'}"
                )
    return Job(
        policy=policy,
        judges=dict(judges),
        workload=work,
        training=training or Training(),
        rates=known,
        contexts={key: spec.engine.max_context_len for key, spec in specs.items()},
    )
