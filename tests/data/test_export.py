import json

import pytest

from assay.core.errors import InputError, OutputError
from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow, best_of_n, pairs, write_jsonl


def item(name, *texts):
    return Item(
        id=name,
        messages=(Message(role="user", content=f"{name}?"),),
        candidates=tuple(Candidate(text=t) for t in texts),
    )


def row(name, scores=None, candidate=None, outcome="verdict", n=3, choice=None, judge="j"):
    return ResultRow(item_id=name, judge=judge, outcome=outcome, scores=scores, candidate=candidate, n=n, choice=choice)


def test_one_judgment_of_all_candidates():
    rows, items = [row("a", (3.0, 9.0, 1.0))], [item("a", "x", "y", "z")]
    assert best_of_n(rows, items).rows == (
        {"id": "a", "prompt": "a?", "response": "y", "score": 9.0, "index": 1, "n": 3, "tied": [], "judge": "j"},
    )
    assert pairs(rows, items).rows == (
        {
            "id": "a",
            "prompt": "a?",
            "chosen": "y",
            "rejected": "z",
            "chosen_score": 9.0,
            "rejected_score": 1.0,
            "judge": "j",
        },
    )


def test_one_judgment_of_each_candidate():
    rows = [row("a", (float(s),), candidate=i, n=1) for i, s in enumerate([0, 1, 1])]
    (best,) = best_of_n(reversed(rows), [item("a", "x", "y", "z")]).rows
    assert (best["response"], best["tied"]) == ("y", [1, 2])


def test_only_verdicts_speak_and_the_rest_is_counted():
    items = [item(name, "x", "y") for name in "abcde"] + [item("s", "x")]
    rows = [
        row("a", (5.0, 5.0), n=2),
        row("b", outcome="parse_error", n=2),
        row("c", (1.0,), candidate=0, n=1),
        row("c", outcome="timeout", candidate=1, n=1),
        row("d", (1.0,), candidate=0, n=1),
        row("e", n=2, choice=1),
        row("s", (1.0,), n=1),
        row("gone", (1.0, 0.0), n=2),
    ]
    export = pairs(rows, items)
    assert [(r["chosen"], r["rejected"]) for r in export.rows] == [("y", "x")]
    assert (export.ties, export.failed, export.single, export.unknown) == (1, 3, 1, 1)


def test_scores_of_another_number_of_candidates_are_no_verdict_on_the_item():
    assert pairs([row("a", (1.0, 0.0), n=2)], [item("a", "x", "y", "z")]).failed == 1


def test_several_judges_are_refused():
    with pytest.raises(InputError, match=r"several judges \(j, k\)"):
        pairs([row("a", (1.0, 0.0)), row("a", (1.0, 0.0), judge="k")], [])


def test_write_jsonl(tmp_path):
    path = tmp_path / "x.jsonl"
    assert write_jsonl(path, [{"a": "答案"}, {"a": "lone \ud800 half"}]) == 2
    raw = path.read_bytes()
    assert "答案".encode() in raw
    assert [json.loads(line)["a"] for line in raw.splitlines()] == ["答案", "lone \ud800 half"]
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        write_jsonl(tmp_path / "file" / "x.jsonl", [])
