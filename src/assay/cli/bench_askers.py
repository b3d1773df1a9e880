"""From the flags of ``assay bench run`` to who answers: a judge with an engine, a reward model, or a script."""

from __future__ import annotations

from assay.bench.running.candidates import CandidateBackend, CandidateJudge
from assay.bench.running.passes import Asker, Pass
from assay.bench.running.scripted import PREFIX, scripted
from assay.core.errors import InputError
from assay.engines.head_kind import told_head
from assay.judges import Judge
from assay.scoring.batch import Judging

from .bench_flags import OF_A_JUDGE, asking_flags, refuse
from .bench_heads import reward_asker
from .bench_run import BenchRunFlags
from .building import backend, judge_of
from .judge import JudgeFlags


def asker_of(flags: BenchRunFlags) -> Asker:
    """Who answers.

    Raises:
        InputError: several are named, or an option is of another one.
    """
    if flags.reward is not None:
        return reward_asker(flags, flags.reward)
    refuse(flags, ("reward_options", "head"), "needs a reward model: name it with --reward")
    _no_other_head(flags)
    if (flags.judge or "").startswith(PREFIX):
        refuse(flags, OF_A_JUDGE, "has no effect on a script, which asks nobody")
        scorer = scripted(flags.judge or "")
        judge = CandidateJudge.of(scorer)
        return Asker(judge=judge, backend=lambda _: CandidateBackend(scorer), varies=scorer.varies, tempers=False)
    return _judge(flags)


def _no_other_head(flags: BenchRunFlags) -> None:
    """A head that was trained to something else gives numbers that look like those of a meta RM."""
    head = None if flags.meta is None else told_head(str(flags.meta_options.get("model", flags.meta)))
    if head is not None and head.kind != "meta":
        raise InputError(f"--meta {flags.meta!r} is a head of kind {head.kind!r}, no meta RM: name it with --reward")


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


def _lenient(asking: JudgeFlags, judge: Judge) -> Judge | None:
    """The same judge with the forgiving parser; None where it has none."""
    try:
        found = judge_of(asking.model_copy(update={"lenient": True}))
    except InputError:
        return None
    return found if found.asks == judge.asks else None
