"""The plan's engines as stages of the simulation: which requests, how fast, how many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .cluster import Cluster
from .job import Job
from .memory import kv_tokens
from .model import ModelShape
from .plans import Claim, Kind, PlacementPlan
from .simulate import Stage, lengths
from .speed import HOST_JUDGEMENT, EngineSpeed, assumed_engine, measured_engine


def rollout_stage(plan: PlacementPlan, cluster: Cluster, job: Job) -> Stage:
    """The rollout: all samples of a step; a prompt is read once for its samples."""
    work, claim = job.workload, plan.claims["rollout"]
    context = work.prompt_tokens + work.response_tokens / 2
    full = work.prompt_tokens + work.response_tokens
    speed = assumed_engine(job.policy, cluster.card, len(claim.engines[0]), context, _most(claim, cluster, job, full))
    if job.rates.rollout is not None:
        speed = measured_engine(job.rates.rollout, speed)
    sizes = lengths(work.prompts * work.samples, work.response_tokens, work.spread, work.response_max)
    read = work.prompt_tokens / work.samples
    return Stage(name="rollout", engines=claim.engines, speed=speed, work=tuple((read, size) for size in sizes))


def judge_stages(plan: PlacementPlan, cluster: Cluster, job: Job) -> tuple[Stage, ...]:
    """The judges that cost anything: those with GPUs, a known shape and something to judge."""
    return tuple(
        _judge_stage(claim, shape, cluster, job)
        for claim, shape in _judges(plan, job)
        if job.load(claim.name).calls and job.load(claim.name).asked
    )


def seconds_per_request(stage: Stage) -> float:
    """Of one engine at its steady load, without the tail of a batch."""
    together = max(1, min(stage.speed.most, len(stage.work) // len(stage.engines)))
    tokens = sum(size for _, size in stage.work) / len(stage.work)
    prompt = sum(read for read, _ in stage.work) / len(stage.work)
    return stage.speed.admission(prompt) + tokens * stage.speed.step(together) / together


def _judges(plan: PlacementPlan, job: Job) -> Iterator[tuple[Claim, ModelShape]]:
    for name, claim in plan.claims.items():
        if claim.kind == Kind.JUDGE and claim.engines and name in job.judges:
            yield claim, job.judges[name]


def _judge_stage(claim: Claim, shape: ModelShape, cluster: Cluster, job: Job) -> Stage:
    load = job.load(claim.name)
    context = load.prompt_tokens + load.response_tokens / 2
    most = _most_judged(claim, shape, cluster, job)
    speed: EngineSpeed = assumed_engine(shape, cluster.card, len(claim.engines[0]), context, most)
    if speed.request:
        speed = replace(speed, request=HOST_JUDGEMENT)
    rate = job.rates.judges.get(claim.name, job.rates.judge)
    if rate is not None:
        speed = measured_engine(rate, speed)
    count = max(1, round(job.workload.prompts * job.workload.samples * load.calls * load.asked))
    sizes = lengths(count, load.response_tokens, load.spread)
    read = load.prompt_tokens * (1 - load.cached)
    return Stage(name=claim.name, engines=claim.engines, speed=speed, work=tuple((read, size) for size in sizes))


def _most(claim: Claim, cluster: Cluster, job: Job, tokens: int) -> int:
    return max(1, min(job.rates.max_running, kv_tokens(claim, cluster, job.policy) // tokens))


def _most_judged(claim: Claim, shape: ModelShape, cluster: Cluster, job: Job) -> int:
    load = job.load(claim.name)
    fits = kv_tokens(claim, cluster, shape) // (load.prompt_tokens + load.response_tokens)
    return max(1, min(job.rates.max_running, fits))
