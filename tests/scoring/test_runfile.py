from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError, OutputError
from assay.data import COLUMNS, read_results
from assay.scoring.batch import Skipped, Unit, judge_units, units
from assay.scoring.journal import seal
from assay.scoring.judgment import Judgment
from assay.scoring.records import vote_rows
from assay.scoring.runfile import RunFile, RunHeader
from assay.scoring.scorer import Scorer

from .doubles import DigitJudge, ScriptEngine, item, prompt_of

HEADER = RunHeader(
    judge="digit-False", model="script", weight_version="1", sampling={"temperature": 0.1}, reask=0, seed=0
)
JUDGE = DigitJudge()


def judge_into(file: RunFile, engine: ScriptEngine, *texts: str, stop_after: int | None = None) -> None:
    """Judge one item per text into ``file``, as the command line does; ``stop_after`` dies without closing."""
    work = [u for u in units(JUDGE, (item(t, id=f"i{n}") for n, t in enumerate(texts))) if isinstance(u, Unit)]
    todo = [u for u in work if not file.has(u.subject, u.content_hash)][:stop_after]

    def keep(judgment: Judgment) -> None:
        for row in vote_rows(judgment):
            file.append(row)

    scorer = Scorer(engine, reask=0)
    asyncio.run(judge_units(scorer, JUDGE, todo, concurrency=3, deadline_s=5, seed=0, on_judgment=keep))


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    engine = ScriptEngine(lambda r: prompt_of(r))
    killed = RunFile(path, HEADER)
    judge_into(killed, engine, *"12345", stop_after=3)
    assert killed._journal is not None
    killed._lock.release()  # as the system does
    killed._journal.flush()  # a kill -9 now: nothing is closed, nothing sealed
    assert not path.exists()
    with RunFile(path, HEADER) as file:
        assert len(file) == 3
        judge_into(file, engine, *"12345")
        file.close(order=[(f"i{n}", None, 0) for n in range(5)])
    assert len(engine.calls) == 5
    rows = read_results(path)
    assert [r.item_id for r in rows] == ["i0", "i1", "i2", "i3", "i4"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]
    with RunFile(path, HEADER) as file:
        judge_into(file, engine, *"12345")
    assert len(engine.calls) == 5


def test_changed_content_is_judged_again_and_replaces_the_row(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    engine = ScriptEngine(lambda r: prompt_of(r))
    for texts in ("12", "13"):
        with RunFile(path, HEADER) as file:
            judge_into(file, engine, *texts)
    assert {r.item_id: r.scores for r in read_results(path)} == {"i0": (1.0,), "i1": (3.0,)}
    assert len(engine.calls) == 3


def test_failures_are_kept_and_judged_again_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    engine = ScriptEngine(lambda r: "?")
    with RunFile(path, HEADER) as file:
        judge_into(file, engine, "1")
    with RunFile(path, HEADER) as file:
        judge_into(file, engine, "1")
    assert len(engine.calls) == 1
    engine.reply = prompt_of
    with RunFile(path, HEADER, retry_failed=True) as file:
        judge_into(file, engine, "1")
    assert [r.outcome for r in read_results(path)] == ["verdict"]


def test_another_run_is_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    RunFile(path, HEADER).close()
    with pytest.raises(InputError, match=r"model 'script' instead of 'other'.*--fresh"):
        RunFile(path, replace(HEADER, model="other"))
    RunFile(path, replace(HEADER, model="other"), fresh=True).close()
    seal([], path, {"else": 1}, COLUMNS)
    with pytest.raises(InputError, match="not a run of Assay"):
        RunFile(path, HEADER)
    path.write_text("hello")
    with pytest.raises(InputError, match="not a result file"):
        RunFile(path, HEADER)


def test_items_that_a_judge_cannot_take_are_named() -> None:
    found = list(units(JUDGE, [item("1", id="a"), item("2", id="b", reference="")]))
    assert isinstance(found[0], Unit)
    assert found[1] == Skipped(item_id="b", reason="reference is empty")


def test_a_full_disk_stops_the_run_with_one_error(tmp_path: Path) -> None:
    engine = ScriptEngine(lambda r: "1", latency_s=0.001)
    work = [u for u in units(JUDGE, (item("1", id=str(n)) for n in range(50))) if isinstance(u, Unit)]

    def full(judgment: Judgment) -> None:
        raise OutputError("disk full")

    with pytest.raises(OutputError, match="disk full"):
        asyncio.run(judge_units(Scorer(engine), JUDGE, work, concurrency=8, deadline_s=5, seed=0, on_judgment=full))


def test_one_run_at_a_time_writes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with RunFile(path, HEADER), pytest.raises(InputError, match="being written by another run"):
        RunFile(path, HEADER)
    RunFile(path, HEADER).close()
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]


def test_fresh_deletes_nothing_that_is_not_a_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("precious\n")
    with pytest.raises(InputError, match="not a result file"):
        RunFile(path, HEADER, fresh=True)
    assert path.read_text() == "precious\n"
    with pytest.raises(InputError, match="is a directory"):
        RunFile(tmp_path, HEADER)
