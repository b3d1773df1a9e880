"""Which mode would do this job fastest on these GPUs, and why: every option that is legal and fits, predicted."""

from __future__ import annotations

from assay.core.errors import InputError

from .cluster import Cluster
from .flags import PlacementFlags
from .forecast import Advice, Option, Prediction
from .job import Job
from .memory import estimate_memory
from .options import options
from .planner import place
from .plans import Mode, PlacementPlan
from .predict import predict

SAME = 0.05
"""Options that differ by less than this share of the time are told apart by no prediction."""


def advise(plan: PlacementPlan, flags: PlacementFlags, cluster: Cluster, job: Job) -> Advice:
    """The best option of each mode beside the plan as given, the fastest first."""
    given = plan.prediction or predict(plan, cluster, job)
    best: dict[Mode, tuple[Option, Prediction]] = {}
    refused: dict[Mode, Option] = {}
    for mode, layout, wanted in options(flags, cluster.size):
        option, prediction = _try(mode, layout, wanted, cluster, job)
        if prediction is None:
            refused.setdefault(mode, option)
        elif mode not in best or prediction.seconds < best[mode][1].seconds:
            best[mode] = (option, prediction)
    own = Option(mode=plan.mode, layout="as given", seconds=given.seconds, idle=given.mean_idle)
    found = sorted((option for option, _ in best.values()), key=lambda option: option.seconds or 0.0)
    rest = tuple(option for mode, option in refused.items() if mode not in best)
    return Advice(options=(own, *found, *rest), verdict=_verdict(own, given, best))


def _try(
    mode: Mode, layout: str, wanted: PlacementFlags, cluster: Cluster, job: Job
) -> tuple[Option, Prediction | None]:
    try:
        plan = place(wanted, cluster)
    except InputError as error:
        return Option(mode=mode, layout=layout, refused=str(error)), None
    memory = estimate_memory(plan, cluster, job)
    if memory.refusals:
        return Option(mode=mode, layout=layout, refused=memory.refusals[0]), None
    prediction = predict(plan, cluster, job)
    return Option(mode=mode, layout=layout, seconds=prediction.seconds, idle=prediction.mean_idle), prediction


def _verdict(own: Option, given: Prediction, best: dict[Mode, tuple[Option, Prediction]]) -> str:
    if not best:
        return "no other layout of these GPUs is legal and fits"
    mode = min(best, key=lambda one: best[one][1].seconds)
    option, prediction = best[mode]
    if prediction.seconds >= given.seconds * (1 - SAME):
        return f"keep it: no other layout is predicted to be more than 5 % faster. {_why(Mode(own.mode), given, best)}"
    saved = 1 - prediction.seconds / given.seconds
    return (
        f"{mode} with {option.layout}: {prediction.seconds:.1f} s a step, {saved:.0%} less than as given. "
        f"{_why(mode, prediction, best)}"
    )


def _why(mode: Mode, chosen: Prediction, best: dict[Mode, tuple[Option, Prediction]]) -> str:
    """The part of the step that decides, in one sentence."""
    if mode == Mode.FULLY_ASYNC:
        fresh = {one: best[one] for one in best if one != Mode.FULLY_ASYNC}
        quickest = min(fresh, key=lambda one: fresh[one][1].seconds, default=None)
        told = (
            f" Of those that train on fresh samples, {quickest} with {fresh[quickest][0].layout} is the fastest."
            if quickest is not None
            else ""
        )
        return (
            f"Rollout ({chosen.phases['rollout and judging']:.1f} s) and training ({chosen.phases['training']:.1f} s) "
            f"overlap; samples are off-policy by up to the staleness that is allowed.{told}"
        )
    if mode == Mode.DEFER_SWAP:
        judging, swap = chosen.phases.get("judging", 0.0), chosen.phases.get("swap", 0.0)
        return f"Rollout and judge have every GPU in turn: judging takes {judging:.1f} s, the swap {swap:.1f} s."
    tail = chosen.phases.get("judging after the rollout", 0.0)
    told = f"Judging hides in the rollout's {chosen.phases['rollout']:.1f} s and adds {tail:.1f} s after it"
    if Mode.DEFER_SWAP in best and "judging" in (other := best[Mode.DEFER_SWAP][1].phases):
        return f"{told}; deferred it would take {other['judging']:.1f} s and a swap of {other['swap']:.1f} s."
    return f"{told}."
