"""From the flags of ``assay bench run`` to who answers: a judge with an engine, a reward model, or a script."""

from __future__ import annotations

from assay.bench.running.candidates import CandidateBackend, CandidateJudge
from assay.bench.running.passes import Asker, Pass
from assay.bench.running.scalar import RewardScorer
from assay.bench.running.scripted import PREFIX, scripted
from assay.core.errors import InputError
from assay.engines.reward_catalog import build_reward_engine, reward_engine_config
from assay.judges import Judge
from assay.scoring.batch import Judging

from .bench_run import BenchRunFlags
from .building import backend, judge_of
from .judge import JudgeFlags

_OF_A_JUDGE = ("engine", "model", "adapter", "url", "route_key", "engine_options", "sampling", "choices", "lenient",
               "principles", "judge_options", "meta", "meta_options", "cache")  # fmt: skip


def asker_of(flags: BenchRunFlags) -> Asker:
    """Who answers.

    Raises:
        InputError: several are named, or an option is of another one.
    """
    if flags.reward is not None:
        refuse(flags, ("judge", *_OF_A_JUDGE), "has no effect on a reward model: see --reward-options")
        return _reward_model(flags)
    refuse(flags, ("reward_options",), "needs a reward model: name it with --reward")
    if (flags.judge or "").startswith(PREFIX):
        refuse(flags, _OF_A_JUDGE, "has no effect on a script, which asks nobody")
        scorer = scripted(flags.judge or "")
        judge = CandidateJudge.of(scorer)
        return Asker(judge=judge, backend=lambda _: CandidateBackend(scorer), varies=scorer.varies, tempers=False)
    return _judge(flags)


def _reward_model(flags: BenchRunFlags) -> Asker:
    model = flags.reward or ""
    options = {"model": model, **flags.reward_options}
    config = reward_engine_config(str(options.pop("kind", "embedded")), options)

    def made(_: Pass) -> Judging:
        return CandidateBackend(RewardScorer(engine=build_reward_engine(config), model=model))

    return Asker(judge=RewardScorer.judge(model), backend=made, scalar=True, varies="nothing", tempers=False)


def _judge(flags: BenchRunFlags) -> Asker:
    asking = asking_flags(flags)
    judge = judge_of(asking)
    if flags.meta is None:
        refuse(flags, ("meta_options",), "needs a meta RM: name its model with --meta")

    def made(one: Pass) -> Judging:
        meta = asking.meta if one.plan.meta is not None else None
        greedy = {"sampling": {**asking.sampling, "temperature": 0.0}} if one.greedy else {}
        return backend(asking.model_copy(update={"meta": meta, **greedy}), judge)

    return Asker(
        judge=judge,
        backend=made,
        lenient=None if flags.lenient else _lenient(asking, judge),
        varies="nothing" if judge.rule else "samples",
        tempers=not judge.rule and flags.engine != "service",
        meta=flags.meta,
    )


def asking_flags(flags: BenchRunFlags) -> JudgeFlags:
    """The flags that say how a judge is asked."""
    own = set(BenchRunFlags.model_fields) & set(JudgeFlags.model_fields)
    # Orders, k and the like mean something else here, and the plans of the passes say them.
    names = own - {"out", "k", "orders", "reduce", "ties", "min_valid", "k_meta", "bootstrap", "limit"}
    said = {name: value for name, value in flags if name in names}
    if flags.engine == "service" and "reask" not in flags.model_fields_set:
        said.pop("reask")
    return JudgeFlags(**said)


def _lenient(asking: JudgeFlags, judge: Judge) -> Judge | None:
    """The same judge with the forgiving parser; None where it has none."""
    try:
        found = judge_of(asking.model_copy(update={"lenient": True}))
    except InputError:
        return None
    return found if found.asks == judge.asks else None


def refuse(flags: BenchRunFlags, names: tuple[str, ...], why: str) -> None:
    """Flags without effect are refused, not dropped."""
    for name in names:
        value = flags.model_dump()[name]
        if value != BenchRunFlags.model_fields[name].get_default(call_default_factory=True):
            raise InputError(f"--{name.replace('_', '-')} {value!r} {why}")
