from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.core.errors import OutputError
from assay.rl.record import COLUMNS, RecordConfig, SampleRecord, sample_files
from assay.rl.sample import Reward
from assay.rl.step import StepResult

from .watching import PARSE_ERROR, group, lost, rewarded, sample, stepped


def _record(run: Path, *steps: StepResult, every: int = 1) -> SampleRecord:
    record = SampleRecord(run, RecordConfig(record_interval=every))
    for one in steps:
        assert asyncio.run(record.after(one)) == {}
    return record


def _rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def test_a_row_holds_the_answer_what_it_earned_and_why(tmp_path: Path) -> None:
    given = sample(Reward(value=1.0, judge="verifier", text="1", parts={"acc": True}), ordinal=7)
    step = stepped(12, [group(given, sample(0.0, ordinal=7, index=1, length=2))])
    record = _record(tmp_path, step)
    assert record.path(12) == tmp_path / "samples" / "step-000012.parquet"
    first, second = _rows(record.path(12))
    assert first == {
        "step": 12,
        "group": 7,
        "index": 0,
        "prompt": "What is 2 + 2?",
        "label": "4",
        "metadata": "",
        "response": "444",
        "status": "completed",
        "reward": 1.0,
        "parts": '{"acc": true}',
        "judge": "verifier",
        "judge_text": "1",
        "failed_at": "",
        "failure_kind": "",
        "failure_detail": "",
        "advantage": pytest.approx(1.0, abs=1e-5),
        "left_out": None,
        "prompt_ids": [1, 2],
        "response_ids": [0, 1, 2],
        "loss_mask": [True] * 3,
        "log_probs": [-0.5] * 3,
        "weight_versions": ["v0"] * 3,
    }
    assert second["advantage"] == pytest.approx(-1.0, abs=1e-5)


def test_failures_are_told_apart_and_are_no_rewards(tmp_path: Path) -> None:
    step = stepped(0, [group(sample(1.0), sample(PARSE_ERROR, index=1), lost(index=2), sample(0.0, index=3))])
    rows = _rows(_record(tmp_path, step).path(0))
    assert [row["reward"] for row in rows] == [1.0, None, None, 0.0]
    assert [row["failed_at"] for row in rows] == ["", "judge", "rollout", ""]
    assert [row["failure_kind"] for row in rows] == ["", "parse_error", "timeout", ""]
    assert rows[1]["judge_text"] == "hm"
    assert [row["left_out"] for row in rows] == [None, "judgment_failed", "judgment_failed", None]


def test_answers_that_the_filter_dropped_are_kept_apart(tmp_path: Path) -> None:
    step = stepped(0, [rewarded(1.0, 0.0)], filtered=[rewarded(1.0, 1.0, ordinal=1)])
    rows = _rows(_record(tmp_path, step).path(0))
    assert [(row["group"], row["left_out"]) for row in rows] == [
        (0, None),
        (0, None),
        (1, "filtered"),
        (1, "filtered"),
    ]
    assert rows[2]["advantage"] is None


def test_pandas_reads_it(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    record = _record(tmp_path, stepped(0, [rewarded(1.0, PARSE_ERROR, 0.5)]))
    frame = pandas.read_parquet(record.path(0))
    assert list(frame.columns) == COLUMNS.names
    assert frame["reward"].mean() == 0.75
    assert frame["response_ids"][0].tolist() == [0, 1, 2]


def test_half_an_emoji_and_a_prompt_of_turns_are_text(tmp_path: Path) -> None:
    from dataclasses import replace

    from assay.core.types import Message

    turns = (Message(role="system", content="Be short."), Message(role="user", content="2 + 2?"))
    odd = replace(sample(1.0), response="ok \ud83d", prompt=turns, metadata={"level": 3})
    row = _rows(_record(tmp_path, stepped(0, [group(odd)])).path(0))[0]
    assert row["response"] == "ok \\ud83d"
    assert row["prompt"] == "[system]\nBe short.\n\n[user]\n2 + 2?"
    assert json.loads(row["metadata"]) == {"level": 3}


def test_a_step_that_is_made_again_doubles_nothing(tmp_path: Path) -> None:
    record = _record(tmp_path, *(stepped(number, [rewarded(1.0, 0.0)]) for number in range(4)))
    record.resume(2)
    assert [number for _, number in sample_files(record.folder)] == [0, 1]
    _record(tmp_path, *(stepped(number, [rewarded(1.0, 0.0)]) for number in (1, 2)))
    assert [(number, len(_rows(path))) for path, number in sample_files(record.folder)] == [(0, 2), (1, 2), (2, 2)]


def test_only_the_steps_that_are_due_are_kept(tmp_path: Path) -> None:
    steps = [stepped(number, [rewarded(1.0)]) for number in range(5)]
    assert [n for _, n in sample_files(_record(tmp_path / "a", *steps, every=2).folder)] == [0, 2, 4]
    assert sample_files(_record(tmp_path / "b", *steps, every=0).folder) == []


def test_a_step_without_samples_leaves_the_file_that_is_there(tmp_path: Path) -> None:
    record = _record(tmp_path, stepped(3, [rewarded(1.0)]), stepped(3))
    assert len(_rows(record.path(3))) == 1


def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path: Path) -> None:
    record = _record(tmp_path, stepped(0, [rewarded(1.0)]))
    code = (
        "import resource, signal, sys; from pathlib import Path; from assay.rl.record import write_samples;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "write_samples(Path(sys.argv[1]), [{'step': 0, 'response': 'new'}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(record.path(0))], capture_output=True, text=True, check=False
    )
    assert "OutputError: cannot write the samples" in done.stderr
    assert "the same command again" in done.stderr
    assert os.listdir(record.folder) == ["step-000000.parquet"]
    assert [row["reward"] for row in _rows(record.path(0))] == [1.0]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text("a file")
    with pytest.raises(OutputError, match="samples"):
        _record(tmp_path, stepped(0, [rewarded(1.0)]))
