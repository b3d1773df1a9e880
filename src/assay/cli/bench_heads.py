"""From ``--reward`` and ``--head`` to a scorer of candidates: a scalar reward model, PairRM or CLoud."""

from __future__ import annotations

from collections.abc import Callable

from assay.bench.running.candidates import CandidateBackend
from assay.bench.running.heads import CloudScorer, PairScorer, cloud_judge, pair_judge
from assay.bench.running.passes import Asker, Pass
from assay.bench.running.scalar import RewardScorer
from assay.core.errors import InputError
from assay.core.types import SamplingParams
from assay.engines.base import RewardEngine
from assay.engines.catalog import build_engine, engine_config
from assay.engines.head_kind import Head, told_head
from assay.engines.reward_catalog import build_reward_engine, reward_engine_config
from assay.judges.pairrm import PairPrompt
from assay.scoring.batch import Judging
from assay.voting.plan import VOTING_SAMPLING

from .bench_flags import OF_A_JUDGE, asking_flags, refuse
from .bench_run import BenchRunFlags
from .building import judge_of, options_of, sampling_of

_OF_A_CRITIC = ("engine", "model", "url", "engine_options", "sampling", "judge_options")
"""Flags that say who writes the critiques of CLoud, and how."""


def reward_asker(flags: BenchRunFlags, model: str) -> Asker:
    """Who answers with ``--reward``.

    Raises:
        InputError: the head is a meta RM, or another one than ``--head`` says; an option has no effect on it.
    """
    head = _head(flags, model)
    if head.kind == "cloud":
        refuse(flags, tuple(set(OF_A_JUDGE) - set(_OF_A_CRITIC)), "has no effect on a CLoud head")
        return _cloud(flags, model, head, _maker(flags, model))
    refuse(flags, ("judge", *OF_A_JUDGE), "has no effect on a reward model: see --reward-options")
    engine = _maker(flags, model)
    if head.kind == "pairrm":
        prompt = PairPrompt(language=head.language)

        def compared(_: Pass) -> Judging:
            return CandidateBackend(PairScorer(engine=engine(), model=model, prompt=prompt))

        return Asker(judge=pair_judge(model, prompt), backend=compared, scalar=True, varies="orders", tempers=False)

    def scored(_: Pass) -> Judging:
        return CandidateBackend(RewardScorer(engine=engine(), model=model))

    return Asker(judge=RewardScorer.judge(model), backend=scored, scalar=True, varies="nothing", tempers=False)


def _head(flags: BenchRunFlags, model: str) -> Head:
    told = told_head(str(flags.reward_options.get("model", model)))
    if told is None:
        return Head(kind=flags.head or "bt", language=flags.language)
    if told.kind == "meta":
        raise InputError(f"--reward {model!r} is a meta RM, which looks at judgments, not at answers: --meta names it")
    if flags.head not in (None, told.kind):
        raise InputError(f"--head {flags.head}: the folder {model!r} says that its head is {told.kind!r}")
    return told


def _maker(flags: BenchRunFlags, model: str) -> Callable[[], RewardEngine]:
    """What makes the engine of the head; its settings are checked at once."""
    options = {"model": model, **flags.reward_options}
    config = reward_engine_config(str(options.pop("kind", "embedded")), options)
    return lambda: build_reward_engine(config)


def _cloud(flags: BenchRunFlags, model: str, head: Head, engine: Callable[[], RewardEngine]) -> Asker:
    asking = asking_flags(flags)
    critic = None if flags.judge is None else judge_of(asking)
    if critic is not None and not critic.per_candidate:
        raise InputError(f"--judge {flags.judge!r} looks at several answers: a critique is about one")
    if flags.engine in ("service", "rule"):
        raise InputError(f"--engine {flags.engine} writes no critiques: take embedded, openai or fake")
    kind = flags.engine or "embedded"
    writer = engine_config(kind, options_of(asking, kind))

    def made(one: Pass) -> Judging:
        own = SamplingParams(temperature=0.0) if one.greedy else VOTING_SAMPLING
        scorer = CloudScorer(
            engine=engine(),
            writer=build_engine(writer),
            model=model,
            critic=critic,
            language=head.language,
            sampling=own.over(sampling_of(asking)) if one.greedy else sampling_of(asking).over(own),
        )
        return CandidateBackend(scorer)

    return Asker(judge=cloud_judge(model, critic, head.language), backend=made, scalar=True, varies="samples")
