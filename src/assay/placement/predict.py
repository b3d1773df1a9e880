"""Seconds of a step and idle share of each GPU, from the plan and the job. The formulas are in ``docs/planner.md``."""

from __future__ import annotations

from dataclasses import dataclass

from .cluster import Cluster
from .forecast import Prediction, Span
from .job import Job
from .moving import Moving, moving_seconds
from .plans import Mode, PlacementPlan
from .simulate import EngineTime, Run, Stage, simulate
from .speed import forward_seconds, train_seconds
from .work import judge_stages, rollout_stage, seconds_per_request


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trainer:
    """Seconds on the trainer's own GPUs, and of the roles that have GPUs of their own."""

    logprobs: float
    train: float
    apart: dict[str, float]


def predict(plan: PlacementPlan, cluster: Cluster, job: Job) -> Prediction:
    """One step in the steady state."""
    rollout, judges = rollout_stage(plan, cluster, job), judge_stages(plan, cluster, job)
    moving, trainer = moving_seconds(plan, cluster, job), _trainer(plan, cluster, job, rollout)
    gpus = sum("GPU" in bundle for bundle in plan.bundles)
    if plan.mode == Mode.FULLY_ASYNC:
        return _async(plan, gpus, rollout, judges, moving, trainer)
    timeline = _Timeline(gpus)
    inline = plan.mode != Mode.DEFER_SWAP
    run = simulate((rollout, *judges) if inline else (rollout,), follow=True)
    timeline.engines(run)
    timeline.advance("rollout", run.ends[0])
    if inline:
        timeline.advance("judging after the rollout", run.end - run.ends[0])
        timeline.advance("sleep", moving.sleep)
    elif judges:
        timeline.advance("swap", moving.sleep + moving.wake)
        scored = simulate(judges, follow=False)
        timeline.engines(scored)
        timeline.advance("judging", scored.end)
        timeline.advance("sleep", moving.sleep)
    actor = plan.claims["actor"].gpus
    timeline.advance("actor wakes", moving.actor_wake)
    timeline.work("log-probs", "actor", actor, trainer.logprobs)
    timeline.work("train", "actor", actor, trainer.train)
    timeline.advance("actor sleeps", moving.actor_sleep)
    timeline.advance("weights to the rollout", moving.sync)
    timeline.advance("wake", moving.wake if inline else 0.0)
    return timeline.prediction()


def _trainer(plan: PlacementPlan, cluster: Cluster, job: Job, rollout: Stage) -> _Trainer:
    work, training = job.workload, job.training
    written = sum(size for _, size in rollout.work)
    tokens = len(rollout.work) * work.prompt_tokens + written
    context = tokens / len(rollout.work)
    ranks = len(plan.claims["actor"].gpus)
    own, apart = 0.0, dict[str, float]()
    for role, wanted in (("reference", training.reference), ("actor_fwd", training.old_logprobs)):
        claim = plan.claims.get(role)
        if not wanted:
            continue
        alone = plan.mode == Mode.FULLY_ASYNC and claim is not None and claim.engines
        gpus = len(claim.gpus) if alone and claim is not None else ranks
        seconds = forward_seconds(
            job.policy, training, job.rates, cluster.card, tokens=tokens, context=context, gpus=gpus
        )
        if alone:
            apart[role] = seconds
        else:
            own += seconds
    train = train_seconds(job.policy, training, job.rates, cluster.card, tokens=tokens, context=context, gpus=ranks)
    return _Trainer(logprobs=own, train=train, apart=apart)


def _async(
    plan: PlacementPlan, gpus: int, rollout: Stage, judges: tuple[Stage, ...], moving: Moving, trainer: _Trainer
) -> Prediction:
    """The slowest pool sets the pace, unless staleness makes the pools wait for each other.

    ``period = max(rollout + sync, judging, log-probs, training, (all of them one after the other) / (staleness + 1))``.
    """
    fresh = plan.max_staleness == 0
    run = simulate((rollout, *judges), follow=True)
    pools = {stage.name: _steady(stage) for stage in (rollout, *judges)}
    generate = run.end if fresh else max(pools.values())
    train = trainer.logprobs + trainer.train
    forward = max(trainer.apart.values(), default=0.0)
    chain = generate + moving.sync + forward + train
    period = max(generate + moving.sync, forward, train, chain / (plan.max_staleness + 1))
    seconds = {**pools, **trainer.apart, "actor": train}
    spans = tuple(
        Span(name=name, claim=name, gpus=plan.claims[name].gpus, start=0.0, end=min(period, busy))
        for name, busy in seconds.items()
    )
    idle = [1.0] * gpus
    for span in spans:
        for gpu in span.gpus:
            idle[gpu] = max(0.0, 1 - (span.end - span.start) / period)
    phases = {
        "rollout and judging": generate,
        "weights to the rollout": moving.sync,
        **{f"log-probs ({role})": busy for role, busy in trainer.apart.items()},
        "training": train,
    }
    return Prediction(seconds=period, phases=phases, spans=spans, idle=tuple(idle))


def _steady(stage: Stage) -> float:
    return seconds_per_request(stage) * len(stage.work) / len(stage.engines)


class _Timeline:
    """A step in the making: phases one after the other, and what each GPU did in them."""

    def __init__(self, gpus: int) -> None:
        self.now = 0.0
        self.phases: dict[str, float] = {}
        self.spans: list[Span] = []
        self.busy = [0.0] * gpus

    def advance(self, phase: str, seconds: float) -> None:
        if seconds > 0:
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds
            self.now += seconds

    def work(self, phase: str, claim: str, gpus: tuple[int, ...], seconds: float) -> None:
        """All of these GPUs, all the time."""
        if seconds > 0:
            self.spans.append(Span(name=phase, claim=claim, gpus=gpus, start=self.now, end=self.now + seconds))
            for gpu in gpus:
                self.busy[gpu] += seconds
            self.advance(phase, seconds)

    def engines(self, run: Run) -> None:
        """What engines did, from now on."""
        self.spans.extend(self._span(one) for one in run.engines)
        for gpu, seconds in run.gpu_busy.items():
            self.busy[gpu] += seconds

    def _span(self, one: EngineTime) -> Span:
        share = min(1.0, one.busy / (one.end - one.start)) if one.end > one.start else 1.0
        return Span(
            name=one.name,
            claim=one.name,
            gpus=one.gpus,
            start=self.now + one.start,
            end=self.now + one.end,
            busy=share,
        )

    def prediction(self) -> Prediction:
        idle = tuple(max(0.0, 1 - busy / self.now) for busy in self.busy)
        return Prediction(seconds=self.now, phases=self.phases, spans=tuple(self.spans), idle=idle)
