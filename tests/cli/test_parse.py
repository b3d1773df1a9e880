from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.main import main

GOLDEN = Path(__file__).parents[1] / "judges/golden/parser_cases.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["assay", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("lenient", [False, True])
def test_every_golden_case(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, lenient: bool
) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({k: c[k] for k in ("text", "n", "mode")}) + "\n" for c in CASES))
    code, out, _ = run(monkeypatch, capsys, "parse", "--judge", "pointwise", str(file), *["--lenient"] * lenient)
    assert code == 0
    answers = [json.loads(line) for line in out.splitlines()]
    expected = [c["lenient" if lenient else "strict"] for c in CASES]
    assert [a.get("scores") for a in answers] == expected
    assert all(("failure" in a) == (e is None) for a, e in zip(answers, expected, strict=True))


def test_a_broken_line_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "x"}\n{"text": \n')
    code, out, err = run(monkeypatch, capsys, "parse", str(file))
    assert code == 2
    assert "line 2 is not JSON" in err
    assert json.loads(out)["failure"]["kind"] == "parse_error"


def test_a_wrong_field_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "x", "n": 0}\n')
    code, _, err = run(monkeypatch, capsys, "parse", str(file))
    assert code == 2
    assert "line 1: n" in err
