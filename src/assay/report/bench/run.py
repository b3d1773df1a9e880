"""A benchmark run as its folder holds it: the score of each benchmark, and the tables beside it, read when asked for.

Owns: the one place that knows how these files are named. Does not own: how they are made (``bench.running``), what a
report says of them. Texts of questions and answers are never read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.bench.catalog import BENCHMARKS
from assay.bench.measure import Measured
from assay.bench.overall import Overall, overall
from assay.core.errors import InputError
from assay.core.types import Draw, Failure, FailureKind, Outcome, Verdict, Vote
from assay.data.results import VERDICT

from .bias import Answered
from .score import Lengths, Score, Series, read_score

RUN_JSON, SCORE_JSON, ANSWERS, CASES = "run.json", "score.json", "answers.parquet", "cases.parquet"
GREEDY, VOTES = "greedy", "votes"
_VOTES = ("item_id", "candidate", "vote", "seed", "order", "outcome", "scores", "choice")


@dataclass(frozen=True, kw_only=True)
class BenchmarkRun:
    """One benchmark of a run. ``folder``: its own."""

    folder: Path
    score: Score
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What ``run.json`` says of its data, passes and cost."""

    @property
    def name(self) -> str:
        return self.score.benchmark

    def series(self, name: str) -> Series | None:
        """The series of that name."""
        return next((one for one in self.score.series if one.name == name), None)

    @property
    def lengths(self) -> Mapping[str, Lengths]:
        """Lengths by subset of the pass that the score is of."""
        return self.score.lengths.get(self.pass_name, {})

    @property
    def pass_name(self) -> str:
        """The pass that the score is of."""
        return GREEDY if self.score.of == GREEDY else VOTES

    @cached_property
    def answers(self) -> list[Answered]:
        """The answers that the score is of.

        Raises:
            InputError: the table cannot be read.
        """
        rows = _read(self.folder / ANSWERS, ("series", "gold", "lengths", "scores", "choice"))
        return [
            Answered(
                gold=tuple(row["gold"]),
                lengths=tuple(row["lengths"] or ()),
                scores=None if row["scores"] is None else tuple(row["scores"]),
                choice=row["choice"],
            )
            for row in rows
            if row["series"] == self.score.of
        ]

    def cases(self, series: str) -> list[Measured]:
        """What each case is worth in a series, by the counting of the score.

        Raises:
            InputError: the table cannot be read.
        """
        found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in _read(self.folder / CASES, ("series", "subset", "case", "component", "value")):
            if row["series"] == series:
                found[row["subset"], row["case"]][row["component"]] = row["value"]
        return [Measured(case=case, subset=subset, values=values) for (subset, case), values in found.items()]

    @cached_property
    def votes(self) -> list[list[Vote]]:
        """The votes that the score is of, by item: their order and outcome only.

        Raises:
            InputError: the table cannot be read.
        """
        path = self.folder / f"{self.pass_name}.parquet"
        if not path.exists():
            return []
        found: dict[str, list[Vote]] = defaultdict(list)
        for row in _read(path, _VOTES):
            found[row["item_id"]].append(_vote(row))
        return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Run:
    """The benchmarks of one folder. ``name``: that of the folder."""

    name: str
    folder: Path
    benchmarks: tuple[BenchmarkRun, ...]

    @property
    def judge(self) -> str:
        """Who answered: judge and models, reward model, or table."""
        told = self._asked
        who = next((str(told[name]) for name in ("reward", "table", "judge") if told.get(name)), "")
        models = (str(one.get("model") or "") for one in told.get("models") or ())
        return " · ".join(dict.fromkeys(filter(None, (who, *models)))) or self.name

    @property
    def active_parameters(self) -> float | None:
        """In billions, where the run knows it and its models are of one size."""
        told = self._asked.get("active_parameters") or []
        return told[0] / 1e9 if len(told) == 1 else None

    @property
    def _asked(self) -> Mapping[str, Any]:
        """What the first benchmark says was asked of whom."""
        return self.benchmarks[0].score.asked

    @property
    def overall(self) -> Overall:
        return overall({one.name: one.score.score for one in self.benchmarks})

    def benchmark(self, name: str) -> BenchmarkRun | None:
        """The benchmark of that name."""
        return next((one for one in self.benchmarks if one.name == name), None)


def read_run(folder: Path) -> Run:
    """A run: the folder of ``assay bench run``, or that of one benchmark in it.

    Raises:
        InputError: there is no score in it, or a file cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is no folder: give the one that assay bench run wrote (--out)")
    single = (folder / SCORE_JSON).exists()
    own = [folder] if single else sorted(one.parent for one in folder.glob(f"*/{SCORE_JSON}"))
    if not own:
        raise InputError(f"{str(folder)!r} holds no {SCORE_JSON}: is it the folder of a finished assay bench run?")
    told = _run_json(folder.resolve().parent if single else folder)
    data = told.get("benchmarks") or {}
    scores = {one: read_score(one / SCORE_JSON) for one in own}
    found = [BenchmarkRun(folder=one, score=s, data=data.get(s.benchmark) or {}) for one, s in scores.items()]
    order = [*BENCHMARKS]
    found.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    return Run(name=folder.resolve().name, folder=folder, benchmarks=tuple(found))


def read_runs(folders: Sequence[Path]) -> tuple[Run, ...]:
    """Several runs; those that are called the same get their parent's name too.

    Raises:
        InputError: as ``read_run``.
    """
    runs = [read_run(folder) for folder in folders]
    names = [run.name for run in runs]
    return tuple(
        run if names.count(run.name) == 1 else replace(run, name="/".join(run.folder.resolve().parts[-2:]))
        for run in runs
    )


def _run_json(folder: Path) -> dict[str, Any]:
    """``run.json``; a folder that has none, because only a part of it was copied, still has its scores."""
    try:
        found = json.loads((folder / RUN_JSON).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{str(folder / RUN_JSON)!r} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _vote(row: dict[str, Any]) -> Vote:
    draw = Draw(vote=row["vote"], seed=row["seed"] or 0, order=tuple(row["order"] or ()))
    return Vote(draw=draw, outcome=_outcome(row), candidate=row["candidate"])


def _outcome(row: dict[str, Any]) -> Outcome:
    if row["outcome"] != VERDICT:
        return Failure(kind=FailureKind(row["outcome"]), detail="")
    return Verdict(scores=None if row["scores"] is None else tuple(row["scores"]), choice=row["choice"])


def _read(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table; a column that it lacks is None."""
    try:
        with pq.ParquetFile(path) as file:
            there = set(file.schema_arrow.names)
            rows = file.read(columns=[name for name in columns if name in there]).to_pylist()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"{str(path)!r} is no table of a benchmark run: {error}") from error
    return [{name: row.get(name) for name in columns} for row in rows]
