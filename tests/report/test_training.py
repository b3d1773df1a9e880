from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.report.training_runs import metrics, write_run

from assay.core.errors import InputError
from assay.report.training import (
    Change,
    answers,
    eval_changes,
    failures,
    read_training,
    reward_change,
    seconds_by_phase,
    tokens_per_second,
)
from assay.report.training_monitor import alarm_lines
from assay.report.training_page import training_page
from assay.report.training_table import print_training
from assay.report.training_words import phases_line, step_line
from assay.tracking.lines import MetricLines


def test_a_run_is_read_from_its_files(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    assert run.steps == 20
    assert run.eval_sets == ("aime",)
    assert run.points("eval/aime/pass@1")[:2] == [(0, 0.1), (5, 0.2)]
    assert run.config["mode"] == "split"


def test_first_and_last_figures(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    reward = reward_change(run)
    assert reward is not None
    assert reward.first == pytest.approx(sum(metrics(step)["reward/mean"] for step in range(5)) / 5)
    assert reward.last == pytest.approx(sum(metrics(step)["reward/mean"] for step in range(15, 20)) / 5)
    assert eval_changes(run) == [Change(name="aime", first=0.1, last=pytest.approx(0.1 + 19 / 40))]


def test_failures_and_time_add_up(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    assert answers(run) == 800
    assert failures(run) == {"judge: parse_error": pytest.approx(40.0), "rollout": pytest.approx(10.0)}
    assert seconds_by_phase(run) == {
        "generate": 80.0,
        "train": 60.0,
        "sync": 10.0,
        "save": 20.0,
        "eval": 10.0,
    }


def test_a_share_that_is_too_small_to_show_is_said_to_be_less(tmp_path: Path) -> None:
    MetricLines(tmp_path).write(0, {"reward/mean": 0.5, "time/generate": 99.99, "time/sync": 0.01})
    run = read_training(tmp_path)
    console = Console(width=120, record=True, file=io.StringIO())
    print_training(console, run)
    spent = [line.split() for line in console.export_text().splitlines() if line.startswith("time, ")]
    assert [line[-3:] for line in spent] == [[">", "99.9", "%"], ["<", "0.1", "%"]]
    page = training_page(run)
    assert "(&gt; 99.9 %)" in page
    assert "(&lt; 0.1 %)" in page


def test_examples_are_the_best_the_worst_and_the_failed(tmp_path: Path) -> None:
    found = read_training(write_run(tmp_path / "run")).samples.examples
    assert found is not None
    assert found.step == 19
    assert [row["reward"] for row in found.best] == [1.0]
    assert [row["reward"] for row in found.worst] == [0.0, 1.0]
    assert [row["failed_at"] for row in found.failed] == ["judge", "rollout"]


def test_a_short_run_and_one_without_samples(tmp_path: Path) -> None:
    MetricLines(tmp_path).write(0, {"reward/mean": 0.5})
    run = read_training(tmp_path)
    assert reward_change(run) == Change(name="reward", first=0.5, last=0.5)
    assert run.samples.examples is None
    assert eval_changes(run) == []
    assert failures(run) == seconds_by_phase(run) == {}


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"metrics\.jsonl"):
        read_training(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(InputError, match=r"neither a metrics\.jsonl nor its config\.json"):
        read_training(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: no JSON: .* nothing of this run can be shown"):
        read_training(tmp_path)


def test_what_is_damaged_hides_nothing_else(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    samples = folder / "samples"
    whole = (samples / "step-000019.parquet").read_bytes()
    (samples / "step-000020.parquet").write_bytes(whole[:100])
    (samples / "step-000018.parquet").write_bytes(whole[:-1])
    (samples / "step-000017.parquet").write_bytes(whole)
    (folder / "config.json").write_text("[1]")
    lines = (folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    lines[4], lines[6] = b"\x00\x00\n", b"{}\n"
    (folder / "metrics.jsonl").write_bytes(b"".join(lines))
    run = read_training(folder)
    assert run.samples.examples is not None
    assert run.samples.examples.step == 19
    assert (run.steps, len(run.lines)) == (20, 19), "a baseline and 20 steps, less two"
    assert [(one.path.name, one.why.partition(":")[0]) for one in run.damaged[:3]] == [
        ("config.json", "no settings, which are a JSON object"),
        ("metrics.jsonl", "line 5 is no JSON"),
        ("metrics.jsonl", "line 7 has no step"),
    ]
    assert [one.path.name for one in run.damaged[3:]] == ["step-000018.parquet", "step-000020.parquet"]
    page = training_page(run)
    assert page.count('<p class="note">Damaged: ') == 5
    assert "Answers of step 20" in page


def test_a_run_before_its_first_step(tmp_path: Path) -> None:
    told = {"run_dir": "runs/x", "lr": 1e-6, "api_key": "hush", "load": None}
    (tmp_path / "config.json").write_text(json.dumps(told))
    run = read_training(tmp_path)
    console = Console(width=120, record=True, file=io.StringIO())
    print_training(console, run)
    text = console.export_text()
    for line in ("no step is made yet", "  lr 1e-06\n", "  run_dir runs/x\n", "  api_key (not shown)\n"):
        assert line in text
    assert "load" not in text
    page = training_page(run)
    assert "No step is made yet." in page
    assert '<details class="failure" open><summary>Settings' in page
    assert "hush" not in page + text


def test_a_step_is_a_line() -> None:
    line = step_line(7, 20, {**metrics(7), "eval/aime/pass@1": 0.275})
    assert line == (
        "step 8/20 · reward 0.550 · 113 tokens (10.0 % cut off) · 5.0 % of judgments failed · 2.5 % of answers failed"
        " · KL 0.007 · aime 27.5 % · 1 alarm · 1,130 tokens/s"
        " · 7.5 s (generate 4 s, train 3 s, sync 500 ms, save 1 s)"
    )
    assert step_line(-1, 20, {"eval/aime/pass@1": 0.1, "time/eval": 2.0}) == "baseline · aime 10.0 %"
    assert phases_line({}) == ""
    assert tokens_per_second({"rollout/samples": 40.0}) is None


def test_the_closing_table_says_what_became_of_the_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    console = Console(width=120, record=True, file=open(tmp_path / "out", "w"))  # noqa: SIM115
    with console.file:
        print_training(console, read_training(folder))
    text = console.export_text()
    for told in ("reward", "0.325", "aime, pass@1", "10.0 %", "57.5 %", "parse_error", "time, generate", "samples"):
        assert told in text
    assert alarm_lines(read_training(folder)) == ["monitor: alarms at 1 step, last at step 8"]
