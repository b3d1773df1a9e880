from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.bench.runs import write_script, write_votes

from assay.cli.main import main


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.argv", ["assay", "bench", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_report_goes_into_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write_script(tmp_path / "perfect", "perfect")
    code, out, _ = run(monkeypatch, capsys, "report", str(folder), "--format", "html, md")
    assert code == 0
    assert "Own pairs" in out
    assert "100.0" in out
    assert sorted(file.name for file in folder.glob("report*")) == ["report.html", "report.md"]


def test_several_runs_with_their_sizes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folders = [write_script(tmp_path / name, name, n=4) for name in ("perfect", "constant")]
    said = ("--parameters", "perfect=671/37", "--parameters", "constant=27", "--out", str(tmp_path / "out"))
    code, _, _ = run(monkeypatch, capsys, "report", *map(str, folders), *said, "--format", "html")
    assert code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Score by total parameters" in page
    assert "perfect, 37: 100.0" in page
    assert "constant, 27: 50.0" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "pdf"), "--format 'pdf': there are md, json, png, html"),
        (("--parameters", "other=3"), "'other=3': write RUN=TOTAL or RUN=TOTAL/ACTIVE, RUN one of perfect"),
        (("--parameters", "perfect=big"), "'big' is no number of billions above 0"),
    ],
)
def test_wrong_flags_are_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    told: str,
) -> None:
    folder = write_script(tmp_path / "perfect", "perfect", n=4)
    code, _, err = run(monkeypatch, capsys, "report", str(folder), *arguments)
    assert code == 2
    assert told in " ".join(err.split())
    assert run(monkeypatch, capsys, "report")[0] == 2


def test_two_runs_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before, after = write_votes(tmp_path / "voted", k=2, meta=False), write_script(tmp_path / "perfect", "perfect")
    code, out, _ = run(
        monkeypatch, capsys, "compare", str(before), str(after), "--bootstrap", "20", "-o", str(tmp_path / "out")
    )
    assert code == 0
    assert "before: voted, after: perfect" in out
    assert "Own pairs" in out
    assert (tmp_path / "out" / "comparison.html").exists()
    code, out, _ = run(monkeypatch, capsys, "compare", str(before), str(after), "--bootstrap", "0")
    assert code == 0
    assert "wrote" not in out
    code, _, err = run(monkeypatch, capsys, "compare", str(before), str(after), "--series", "greedy")
    assert code == 2
    assert "no series 'greedy'" in err
