import json

import pytest

from assay.cli.main import main
from assay.core.types import Completion, Draw
from assay.data import item_from_row, load_items
from assay.judges import build_judge


@pytest.fixture
def assay(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["assay", "data", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out + err

    return run


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_slices_join_up_and_parquet_holds_the_same(assay, tmp_path):
    assert assay("generate", "-o", "all.jsonl", "-n", "90")[0] == 0
    assay("generate", "-o", "one.jsonl", "-n", "40")
    assay("generate", "-o", "two.jsonl", "-n", "50", "--start", "40")
    assert rows(tmp_path / "one.jsonl") + rows(tmp_path / "two.jsonl") == rows(tmp_path / "all.jsonl")
    code, told = assay("generate", "-o", "all.parquet", "-n", "90")
    assert (code, "90 items in all.parquet" in told) == (0, True)
    ours, theirs = (load_items(tmp_path / f"all.{kind}").items for kind in ("jsonl", "parquet"))
    assert [(one.id, one.candidates, one.gold, one.reference) for one in ours] == [
        (one.id, one.candidates, one.gold, one.reference) for one in theirs
    ]


@pytest.mark.parametrize("judge", ["verifier", "pointwise", "pairwise"])
def test_completions_are_read_as_gold_by_the_judge_they_were_written_for(assay, tmp_path, judge):
    code, told = assay("generate", "-o", "sft.jsonl", "-n", "240", "--judge", judge, "--side", "held")
    assert code == 0
    written = rows(tmp_path / "sft.jsonl")
    assert ("left out" in told) == (len(written) < 240)
    for row in written:
        item = item_from_row(row)
        language = item.metadata["language"]
        options = {"mode": "0-1"} if judge == "pointwise" and item.n == 1 else {}
        reading = build_judge(judge, language=language, **options)
        draw = Draw(vote=0, seed=0, order=tuple(range(item.n)))
        (request,) = reading.plan(item, draw)
        assert row["prompt_messages"] == [{"role": "user", "content": request.prompt.messages[0].text}]
        verdict = reading.read(item, draw, [Completion(request_id="x", text=row["completion"])])
        best = item.gold.index(max(item.gold))
        if item.n == 1:
            assert verdict.scores == item.gold
        else:
            assert (verdict.choice if judge == "pairwise" else verdict.scores.index(max(verdict.scores))) == best


def test_the_judge_is_asked_with_its_options(assay, tmp_path):
    common = ("-n", "20", "-k", "units", "--shape", "single", "--language", "zh", "--judge", "verifier")
    assay("generate", "-o", "l.jsonl", *common, "--judge-options", '{"forms": true, "language": "en"}')
    assert all(row["completion"].startswith("<think>") for row in rows(tmp_path / "l.jsonl"))
    asked = [row["prompt_messages"][-1]["content"] for row in rows(tmp_path / "l.jsonl")]
    assert all(text.startswith("You compare") and "<think>" in text for text in asked)


def test_shares_of_kinds(assay, tmp_path):
    """Units once, fractions three times: each slice of four items holds them so, and no item twice."""
    assay("generate", "-o", "s.jsonl", "-n", "40", "-k", "fraction:3", "-k", "units")
    found = rows(tmp_path / "s.jsonl")
    assert [row["metadata"]["kind"] for row in found[:5]] == [*["fraction"] * 3, "units", "fraction"]
    assert len({row["id"] for row in found}) == 40


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-o", "x.csv"), "must end in .jsonl or .parquet"),
        (("-o", "x.jsonl", "-k", "poems"), "no kind 'poems'"),
        (("-o", "x.jsonl", "--target", "verdict"), "they need --judge"),
        (("-o", "x.jsonl", "-k", "fraction:0"), "whole number from 1 on"),
        (("-o", "x.jsonl", "-k", "letter", "--language", "zh"), "nothing to generate"),
    ],
)
def test_wrong_flags_are_one_line(assay, arguments, reason):
    code, told = assay("generate", *arguments)
    assert code == 2
    assert reason in told


def test_stats_by_source_and_kind(assay):
    assay("generate", "-o", "d.jsonl", "-n", "60", "-k", "integer", "-k", "json")
    code, told = assay("stats", "d.jsonl")
    assert code == 0
    assert "synthetic/integer" in told
    assert "synthetic/json" in told


def test_check_leaves_out_doubles_ties_and_benchmark_prompts(assay, tmp_path):
    prompt = "Tell me in a few words why the sky over the sea is so blue at noon"
    data = [
        {"id": "a", "prompt": "q", "candidates": ["x", "y"], "gold": [1, 0]},
        {"id": "b", "prompt": "q", "candidates": ["y", "x"], "gold": [0, 1]},
        {"id": "c", "prompt": "Q?", "candidates": ["X", "y!"], "gold": [1, 0]},
        {"id": "d", "prompt": "r", "candidates": ["x", "y"], "gold": [1, 1]},
        {"id": "e", "prompt": f"{prompt}!", "candidates": ["x", "y"], "gold": [1, 0]},
        {"id": "f", "prompt": "s", "candidates": ["x"]},
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    (tmp_path / "bench.jsonl").write_text(json.dumps({"prompt": prompt}) + "\n")
    code, told = assay("check", "d.jsonl", "--against", "bench.jsonl", "-o", "clean.jsonl")
    assert code == 1
    assert "bench.jsonl: 1 prompts" in told
    assert "e shares 100 % of its runs with bench.jsonl: tell me in a few words" in told
    summary = "1 clean items in clean.jsonl · left out: 1 with a prompt of a benchmark, 1 doubles, 1 that differ"
    assert summary in told
    assert "1 without a best" in told
    assert "1 rows are no item" in told
    assert [row["id"] for row in rows(tmp_path / "clean.jsonl")] == ["a"]
    assert assay("check", "d.jsonl", "-o", "clean.csv")[0] == 2


def test_no_output_may_be_an_input(assay, tmp_path):
    text = '{"prompt": "q", "candidates": ["x", "y"], "gold": [1, 0]}\n'
    (tmp_path / "d.jsonl").write_text(text)
    (tmp_path / "link.jsonl").symlink_to("d.jsonl")
    fake = ("--engine", "fake")
    for arguments in (
        ("check", "d.jsonl", "-o", "./d.jsonl"),
        ("check", "helpsteer2=d.jsonl", "-o", "d.jsonl"),
        ("check", "d.jsonl", "-o", "link.jsonl"),
        ("check", "link.jsonl", "--against", "d.jsonl", "-o", "d.jsonl"),
        ("answer", "d.jsonl", "-o", "d.jsonl", *fake),
        ("generate", "--worked", "d.jsonl", "-o", "d.jsonl", "--fresh"),
    ):
        code, told = assay(*arguments)
        assert (code, "is the input itself; name another file" in told) == (2, True), arguments
        assert (tmp_path / "d.jsonl").read_text() == text


PRINCIPLES = '[[principle]]\nname = "Correctness"\nweight = 100\n'


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_judge_that_is_given_its_principles_writes_none(assay, tmp_path, language):
    (tmp_path / "own.toml").write_text(PRINCIPLES)
    code, told = assay(
        "generate", "-o", "sft.jsonl", "-n", "60", "--judge", "pointwise", "--principles", "own.toml",
        "--language", language,
    )  # fmt: skip
    assert code == 0, told
    for row in rows(tmp_path / "sft.jsonl"):
        item = item_from_row(row)
        options = {"mode": "0-1"} if item.n == 1 else {}
        reading = build_judge(
            "pointwise", principles=[{"name": "Correctness", "weight": 100}], language=language, **options
        )
        draw = Draw(vote=0, seed=0, order=tuple(range(item.n)))
        (request,) = reading.plan(item, draw)
        assert row["prompt_messages"] == [{"role": "user", "content": request.prompt.messages[0].text}]
        assert row["completion"].startswith({"en": "Analysis:", "zh": "分析："}[language])
        assert reading.read(item, draw, [Completion(request_id="x", text=row["completion"])]).flags == ()
    code, told = assay("generate", "-o", "x.jsonl", "--judge", "pairwise", "--principles", "own.toml")
    assert (code, "is for --judge pointwise" in told) == (2, True)


def test_a_model_answers_prompts_and_goes_on(assay, tmp_path):
    prompts = [
        {"prompt": "One?"},
        {"messages": [{"role": "user", "content": "Two?"}]},
        {"prompt": "3?", "completion": "No."},
    ]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in prompts))
    fake = ("--engine", "fake", "--engine-options", '{"replies": ["Well."]}')
    code, told = assay("answer", "prompts.jsonl", "-o", "general.jsonl", *fake)
    assert (code, "2 answered by the model, 1 as given" in told) == (0, True), told
    written = rows(tmp_path / "general.jsonl")
    assert [row["completion"] for row in written] == ["Well.", "Well.", "No."]
    assert [bool(row["model"]) for row in written] == [True, True, False]
    first = (tmp_path / "general.jsonl").read_bytes()
    assert assay("answer", "prompts.jsonl", "-o", "general.jsonl", *fake)[0] == 0
    assert (tmp_path / "general.jsonl").read_bytes() == first


def test_each_group_has_as_many_items_however_many_kinds_it_has(assay, tmp_path):
    named = ("--kind", "answers", "--kind", "problems", "--each", "--language", "en")
    assert assay("generate", "-o", "all.jsonl", "-n", "40", *named)[0] == 0
    kinds = [row["metadata"]["kind"] for row in rows(tmp_path / "all.jsonl")]
    assert sum(kind in ("word-problem", "equation") for kind in kinds) == 20
    assay("generate", "-o", "part.jsonl", "-n", "15", "--start", "25", *named)
    assert rows(tmp_path / "part.jsonl") == rows(tmp_path / "all.jsonl")[25:]
    assert assay("generate", "-o", "x.jsonl", "--each")[0] == 2


def test_a_file_that_is_there_is_written_over_when_told_to(assay, tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"prompt": "mine"}\n')
    code, told = assay("generate", "-o", "mine.jsonl", "-n", "3")
    assert (code, "--fresh" in told) == (2, True)
    assert rows(tmp_path / "mine.jsonl") == [{"prompt": "mine"}]
    assert assay("generate", "-o", "mine.jsonl", "-n", "3", "--fresh")[0] == 0
    assert len(rows(tmp_path / "mine.jsonl")) == 3
