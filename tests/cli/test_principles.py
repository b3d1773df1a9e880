import json

import pytest

from assay.cli.main import main
from assay.data import read_results

WRITTEN = "Specific Criteria:\n1. Depth (70%): deep.\n2. Form (30%): neat."
JUDGED = "Specific Criteria: Taste 100%\nAnalysis: x\nScores: \\boxed{7, 5}"
ITEMS = [
    {"id": "a", "prompt": "q?", "candidates": ["x", "y"], "gold": [1, 0]},
    {"id": "b", "prompt": "q?", "candidates": ["z", "w"], "gold": [1, 0]},
    {"id": "c", "prompt": "why?", "candidates": ["u", "v"], "gold": [1, 0]},
]


@pytest.fixture
def assay(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))

    def run(*arguments, says=None):
        engine = [] if says is None else ["--engine", "fake", "--engine-options", json.dumps({"default": says})]
        monkeypatch.setattr("sys.argv", ["assay", *arguments, *engine])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out + err

    return run


def names(path):
    return [[p["name"] for p in json.loads(line)["principles"]] for line in path.read_text().splitlines()]


def test_written_once_for_each_prompt_and_judged_by(assay, tmp_path):
    code, told = assay("principles", "items.jsonl", "--out", "p.jsonl", says=WRITTEN)
    assert code == 0, told
    assert "2 prompts in p.jsonl (0 from an earlier call, 0 failed)" in told
    assert names(tmp_path / "p.jsonl") == [["Depth", "Form"]] * 2
    code, told = assay("principles", "items.jsonl", "--out", "p.jsonl", says=WRITTEN)
    assert "(2 from an earlier call" in told
    code, told = assay(
        "judge", "items.jsonl", "--principles", "p.jsonl", "--out", "j.parquet", says=r"Scores: \boxed{7, 5}"
    )
    assert code == 0, told
    rows = read_results(tmp_path / "j.parquet")
    assert len(rows) == 3
    assert all("1. Depth (70%): deep\n2. Form (30%): neat\n" in row.prompt for row in rows)


def test_items_whose_prompt_has_none_are_skipped_by_name(assay, tmp_path):
    assay("principles", "items.jsonl", "--out", "p.jsonl", "--limit", "1", says=WRITTEN)
    code, told = assay("judge", "items.jsonl", "--principles", "p.jsonl", "--out", "j.parquet", says=r"\boxed{7, 5}")
    assert code == 1
    assert "skipped item c: item 'c' has no 'principles' in its metadata" in told
    assert [row.item_id for row in read_results(tmp_path / "j.parquet")] == ["a", "b"]


def test_taken_from_a_recorded_run(assay, tmp_path):
    assay("judge", "items.jsonl", "--out", "j.parquet", says=JUDGED)
    code, told = assay("principles", "j.parquet", "--judged", "--out", "p.jsonl")
    assert code == 0, told
    assert names(tmp_path / "p.jsonl") == [["Taste"]] * 2
    code, told = assay("principles", "j.parquet", "--judged", "--right-only", "--out", "right.jsonl")
    right = {row.prompt for row in read_results(tmp_path / "j.parquet") if row.scores == (7.0, 5.0)}
    assert f"left out: {3 - len(right)} not right, 0 without" in told


def test_given_by_the_user(assay, tmp_path):
    (tmp_path / "mine.toml").write_text('[[principle]]\nname = "Taste"\n')
    code, told = assay("judge", "items.jsonl", "--principles", "mine.toml", "--out", "j.parquet", says=r"\boxed{7, 5}")
    assert code == 0, told
    assert all("#### Specific criteria ####\n1. Taste\n" in row.prompt for row in read_results(tmp_path / "j.parquet"))


def test_a_text_without_principles_is_a_failure_that_is_shown(assay, tmp_path):
    code, told = assay("principles", "items.jsonl", "--out", "p.jsonl", says="none")
    assert code == 1
    assert "failed 'q?': parse_error: no part 'Specific Criteria'" in told
    assert (tmp_path / "p.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("principles", "items.jsonl", "--right-only"), "--right-only compares recorded verdicts with gold"),
        (("principles", "items.jsonl", "--judged", "--model", "m"), "--model 'm' has no effect with --judged"),
        (("principles", "items.jsonl", "--out", "items.jsonl"), "is the input itself"),
        (("principles", "items.jsonl", "--judged"), "this is no row of results"),
        (("judge", "items.jsonl", "--judge", "math", "--principles", "items.jsonl"), "'math' has no option 'stored'"),
        (("judge", "items.jsonl", "--principles", "gone.toml"), "'gone.toml' cannot be read"),
        (("judge", "items.jsonl", "--principles", "items.jsonl"), "items.jsonl, line 1: needs 'conversation'"),
    ],
)
def test_wrong_use_is_one_clear_line(assay, arguments, words):
    code, told = assay(*arguments)
    assert code == 2
    assert words in told
