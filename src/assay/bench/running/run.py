"""One benchmark run: every pass made (or gone on with), its votes read, the result put together and written.

Owns the order of these steps and where the files are. Does not own the event loop, progress lines and tables (``cli``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.scoring.job import JudgingJob

from ..aggregate import measured_cases
from ..benchmark import Benchmark
from ..counting import Counting
from ..unit import Answer, Judged, Unit
from .asked import Asked, what_to_ask
from .lengths import by_pass
from .passes import Asker, Pass, RunPlan, passes
from .private import without_text
from .recorded import Recorded, read_votes
from .result import Result, result_of
from .series import Series, series_of
from .written import write_answers, write_cases, write_score


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How passes are made. ``folder``: of this benchmark, within the run's."""

    folder: Path
    seed: int = 0
    concurrency: int = 32
    deadline_s: float = 300.0
    fresh: bool = False
    retry_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A result, and what it was made of."""

    result: Result
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Units that the judge cannot take."""
    recorded: Mapping[str, Recorded] = field(default_factory=dict[str, Recorded])


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What will be asked: checked before anything is."""

    benchmark: Benchmark
    units: tuple[Unit, ...]
    asker: Asker
    plan: RunPlan
    how: Settings
    asked: Asked
    passes: tuple[Pass, ...]

    @property
    def counting(self) -> Counting:
        # Only single answers are decided by a threshold.
        scale = self.asker.judge.scale if self.benchmark.kind == "single" else None
        return self.plan.counting(scalar=self.asker.scalar, seed=self.how.seed, scale=scale)

    def job(self, one: Pass) -> JudgingJob:
        """The job of a pass."""
        private = self.benchmark.private_text
        return JudgingJob(
            judge=self.asker.judge,
            items=tuple(self.asked.items.values()),
            out=one.file(self.how.folder),
            seed=one.seed,
            concurrency=self.how.concurrency,
            deadline_s=self.how.deadline_s,
            fresh=self.how.fresh,
            retry_failed=self.how.retry_failed,
            plan=one.plan,
            kept=without_text(self.asked.items, self.asker.lenient) if private else None,
        )


def planned(benchmark: Benchmark, units: Sequence[Unit], asker: Asker, plan: RunPlan, how: Settings) -> Planned:
    """What a run will ask.

    Raises:
        InputError: the judge can take no unit, or gives no scores where the benchmark needs them; options that do not
            go together.
    """
    if asker.judge.reduce == "majority" or plan.reduce == "majority":
        _check_choices(benchmark, units, plan.counting(scalar=asker.scalar, seed=how.seed))
    return Planned(
        benchmark=benchmark,
        units=tuple(units),
        asker=asker,
        plan=plan,
        how=how,
        passes=passes(benchmark, asker, plan, how.seed),
        asked=what_to_ask(units, asker.judge),
    )


def _check_choices(benchmark: Benchmark, units: Sequence[Unit], counting: Counting) -> None:
    """A judge that only names the best candidate: said before it is asked, not when its answers are counted."""
    measured_cases(benchmark, [Judged(unit=unit, answer=Answer(choice=0)) for unit in units], counting)


def finished(run: Planned, told: Mapping[str, Any]) -> Made:
    """The result of passes that are all made, written beside the votes.

    Args:
        told: what ``score.json`` says of judge, data and asking.

    Raises:
        InputError: nothing can be counted. OutputError: a file cannot be written.
    """
    recorded = {
        one: read_votes(one.file(run.how.folder), run.asked.items, run.asker.judge, run.asker.lenient)
        for one in run.passes
    }
    series = list(series_of(run.units, run.asked, run.asker, recorded, lenient=run.plan.failures == "lenient"))
    result = result_of(run.benchmark, series, run.counting, seed=run.how.seed, draws=run.plan.bootstrap)
    by_name = {one.name: found for one, found in recorded.items()}
    told = {**told, **_who(run, by_name)}
    write_all(run.how.folder, result, series, told, by_pass(run.asked, by_name))
    return Made(result=result, refused=run.asked.refused, recorded=by_name)


def _who(run: Planned, recorded: Mapping[str, Recorded]) -> dict[str, Any]:
    """The judge, and the models that answered for it with their active parameters, where they are known."""
    models = sorted({model for one in recorded.values() for model in one.models})
    parameters = sorted({n for one in recorded.values() for n in one.spent if n is not None})
    return {
        "judge": run.asker.judge.name,
        "judge_identity": run.asker.judge.identity,
        "models": [{"model": model, "weight_version": version} for model, version in models],
        "active_parameters": parameters,
    }


def write_all(
    folder: Path, result: Result, series: Sequence[Series], told: Mapping[str, Any], lengths: Mapping[str, Any]
) -> None:
    """The files of a result."""
    write_answers(folder, series)
    write_cases(folder, result)
    write_score(folder, result, lengths, told)
