from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.main import main


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.argv", ["assay", "bench", "check-table", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "paper.csv"
    path.write_text("model,Chat,Safety,Overall\ngood,90.0,80.0,85.0\nbad,90.0,70.0,85.0\n")
    return path


def test_flagged_rows_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    code, out, _ = run(monkeypatch, capsys, str(table))
    assert code == 0
    assert "paper: bad" in out
    assert "paper: good" not in out
    assert out.splitlines()[-1] == "1 of 2 rows do not add up"


def test_as_json_they_are_a_list_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    _, out, _ = run(monkeypatch, capsys, str(table), "--json")
    (row,) = json.loads(out)
    assert row == {
        "table": "paper", "name": "bad", "printed": 85.0, "recomputed": 80.0, "difference": 5.0, "tolerance": 0.1,
        "hints": [],
    }  # fmt: skip


def test_a_wrong_file_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run(monkeypatch, capsys, str(tmp_path / "none.json"))
    assert (code, err.count("\n")) == (2, 1)
