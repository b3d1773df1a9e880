"""Heads from their training to a benchmark run, through the command: each is shown what it was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.core.errors import InputError
from assay.data import read_results
from assay.engines.head_kind import Head, told_head
from assay.training.fit.loop import FitResult
from assay.training.fit.run import Fitted, run_fit
from assay.training.heads.config import HeadConfig
from assay.training.heads.task import load_task

from .conftest import BAD, GOOD, preferences

Make = Callable[..., HeadConfig]


def trained(config: HeadConfig) -> Path:
    def make() -> Fitted:
        task, policy = load_task(config)
        return Fitted(task=task, policy=policy)

    assert run_fit(config, make, FitResult())
    return config.run_dir / "model"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """``assay bench run pairs`` on pairs that no head has seen; the score, and what was printed."""
    monkeypatch.chdir(tmp_path)
    rows = [{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in preferences(30, seed=9)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(model: Path, out: str, *more: str, expect: int = 0) -> tuple[dict[str, Any], str]:
        asked = ["bench", "run", "pairs", "--data", "pairs.jsonl", "--reward", str(model), "-o", out, *more]
        monkeypatch.setattr("sys.argv", ["assay", *asked, "--bootstrap", "0"])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        assert code == expect, told.out + told.err
        path = tmp_path / out / "pairs" / "score.json"
        return json.loads(path.read_text()) if expect == 0 else {}, told.out + told.err

    return run


def test_a_scalar_head(config: Make, bench: Any) -> None:
    model = trained(config("bt", epochs=3))
    assert told_head(str(model)) == Head(kind="bt")
    found, told = bench(model, "bt")
    assert found["score"] > 90
    assert found["asked"]["judge"] == "reward"
    assert "scalar reward model" in told
    _, told = bench(model, "wrong", "--head", "pairrm", expect=2)
    assert "says that its head is 'bt'" in told


@pytest.mark.slow
def test_pairrm(config: Make, bench: Any) -> None:
    model = trained(config("pairrm", preferences(240), epochs=12))
    found, _ = bench(model, "pairrm", "--orders", "both")
    assert found["asked"]["judge"] == "pairrm"
    assert found["score"] > 90
    assert found["orders"]["agree"] > 80
    votes = read_results(Path("pairrm/pairs/votes.parquet"))
    assert {row.order for row in votes} == {(0, 1), (1, 0)}
    assert all(row.scores is not None and row.scores[0] == -row.scores[1] for row in votes)


def test_cloud_with_a_judge_as_its_critic(config: Make, bench: Any) -> None:
    model = trained(config("cloud", epochs=3))
    said = {**dict.fromkeys(GOOD, "right"), **dict.fromkeys(BAD, "wrong")}
    critic = ("--engine", "fake", "--engine-options", json.dumps({"replies": said}), "--judge", "tokenprob",
              "--judge-options", '{"labels": ["right", "wrong"]}')  # fmt: skip
    found, _ = bench(model, "cloud", *critic)
    assert found["asked"]["judge"] == "cloud"
    assert found["score"] == 100
    rows = read_results(Path("cloud/pairs/greedy.parquet"))
    assert {row.text for row in rows} == {"right", "wrong"}


def test_cloud_with_a_model_that_writes_critiques(config: Make, base: Path, bench: Any) -> None:
    """The base model writes a few words: noise, but what the head is shown is what it was trained on."""
    model = trained(config("cloud", epochs=2))
    found, _ = bench(model, "cloud", "--model", str(base), "--sampling", '{"max_new_tokens": 4}', "--k", "2")
    assert found["of"] == "voting@2"
    assert sum(found["failures"].values()) < found["units"] / 2
    rows = read_results(Path("cloud/pairs/votes.parquet"))
    assert {"Look at your last" in row.prompt for row in rows if row.ok} == {True}


def test_heads_of_another_kind_are_refused(config: Make, bench: Any, tmp_path: Path) -> None:
    folder = tmp_path / "meta"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"assay_head": {"kind": "meta", "language": "en"}}))
    _, told = bench(folder, "meta", expect=2)
    assert "is a meta RM" in told
    (folder / "config.json").write_text(json.dumps({"assay_head": {"kind": "bt", "language": "en"}}))
    _, told = bench(folder, "bt", "--engine", "fake", expect=2)
    assert "has no effect on a reward model" in told
    (folder / "config.json").write_text(json.dumps({"assay_head": {"kind": "other"}}))
    with pytest.raises(InputError, match="not known"):
        told_head(str(folder))
    (folder / "config.json").write_text("{}")
    assert told_head(str(folder)) is None
