"""A whole build over a judge of known accuracy: exactly the expected rows, and what is said of the others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Draw, Item
from assay.data import read_results
from assay.judges import Judge, build_judge
from assay.judges.base import content_hash
from assay.spct.fates import Fate
from assay.spct.general import load_general
from assay.spct.plan import RftPlan
from assay.spct.run import build, write_rows
from assay.spct.work import sort_items
from assay.voting.draws import make_draw

from .scripted import PAIRWISE, POINTWISE, SINGLE, alone, is_right, item, sample, settings, sort

SCRIPTS = ("easy", "mixed", "mixed-told", "hard", "hard-told", "mute")


def items(n: int = 4) -> list[Item]:
    """Some of every script, with two, three or four candidates, the best one anywhere."""
    return [
        item(f"{script}-{place}", script, 2 + place % 3, best=place % 2, source="a" if place % 2 else "b", kind=script)
        for script in SCRIPTS
        for place in range(n)
    ]


def script_of(one: Item) -> str:
    return one.question.partition("script=")[2]


def expected(judge: Judge, found: list[Item], n: int = 3) -> set[tuple[str, int, bool]]:
    """(item, vote, hinted) of every row that must come out, by the seeds of the draws alone."""
    rows: set[tuple[str, int, bool]] = set()
    for one in found:
        draws = [make_draw(judge.asks, content_hash(judge, one), one.n, vote=vote) for vote in range(n)]
        right = [draw.vote for draw in draws if is_right(script_of(one), draw.seed, hinted=False)]
        if len(right) == n:
            continue
        rows |= {(one.id, vote, False) for vote in right}
        if is_right(script_of(one), 0, hinted=True):
            rows.add((one.id, 0, True))
    return rows


def keys(rows: list[dict[str, Any]]) -> set[tuple[str, int, bool]]:
    found = [(row["item"], row["vote"], row["hinted"]) for row in rows]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("judge", [POINTWISE, PAIRWISE])
def test_exactly_the_right_samples_are_accepted(judge: Judge, tmp_path: Path) -> None:
    found, how = sort(items(), judge), settings(tmp_path)
    made = sample(found, how)
    rows, report = build(found, None, how)
    assert keys(rows) == expected(judge, items())
    assert {row["item"].rpartition("-")[0] for row in rows} <= {"mixed", "mixed-told", "hard-told"}
    easy = {one.id for one in items() if script_of(one) == "easy"}
    assert report.total.too_easy >= len(easy)
    assert easy.isdisjoint(one.id for one in made[1].items)
    assert report.by_kind["easy"].too_easy == report.by_kind["easy"].items == 4
    assert report.by_kind["hard-told"].hinted == {Fate.RIGHT: 4}
    assert report.by_kind["hard"].rows == report.by_kind["mute"].rows == 0
    assert report.by_kind["mute"].samples == {Fate.UNREADABLE: 12}
    assert report.by_source["a"] + report.by_source["b"] == report.total
    assert report.total.rows == report.rows == len(rows)


def test_rows_are_what_was_asked_and_said_with_where_it_is_from(tmp_path: Path) -> None:
    found, how = sort(items(), POINTWISE), settings(tmp_path)
    sample(found, how)
    rows, _ = build(found, None, how)
    by_id = {one.id: one for one in items()}
    orders = set()
    for row in rows:
        one, order = by_id[row["item"]], tuple(row["order"])
        gold = one.gold or ()
        draw = Draw(vote=row["vote"], seed=row["seed"], order=order)
        (request,) = POINTWISE.plan(one, draw)
        assert isinstance(request.prompt, ChatPrompt)
        plain = request.prompt.messages[0].text
        (turn,) = row["messages"]
        assert turn["role"] == "user"
        if row["hinted"]:
            place = order.index(gold.index(1.0)) + 1
            assert turn["content"] == f"{plain}\n\nKnown beforehand: the best response is response {place}."
        else:
            assert turn["content"] == plain
            orders.add(order)
        shown = ", ".join("9" if gold[index] else "2" for index in order)
        assert row["completion"] == f"Analysis. \\boxed{{{shown}}}"
        assert row["scores"] == [9.0 if reward else 2.0 for reward in gold]
        assert (row["source"], row["kind"], row["task"]) == (one.metadata["source"], script_of(one), "judge")
        assert (row["model"], row["weight_version"]) == ("fake", "0")
    assert {(0, 1), (1, 0)} <= orders
    assert [row["item"] for row in rows] == sorted((row["item"] for row in rows), key=list(by_id).index)


def test_single_candidates_are_judged_0_or_1(tmp_path: Path) -> None:
    singles = [alone(f"s{place}", "mixed-told", place % 2) for place in range(6)]
    found, how = sort([*items(1), *singles]), settings(tmp_path)
    assert [work.name for work in found.works] == ["samples", "single"]
    sample(found, how)
    rows, _ = build(found, None, how)
    mine = [row for row in rows if row["item"].startswith("s")]
    assert keys(mine) == expected(SINGLE, singles)
    for row in mine:
        assert row["scores"] == row["gold"]
        assert "0 or 1 in a box" in row["messages"][0]["content"]
        if row["hinted"]:
            assert row["messages"][0]["content"].endswith(f"the right score is {row['gold'][0]:g}.")


def test_what_is_kept_can_be_changed_without_asking_again(tmp_path: Path) -> None:
    found, how = sort(items()), settings(tmp_path)
    sample(found, how)
    every = expected(POINTWISE, items())
    without, _ = build(found, None, replace(how, plan=RftPlan(unhinted=False)))
    assert keys(without) == {key for key in every if key[2]}
    plain, _ = build(found, None, replace(how, plan=RftPlan(hint=False)))
    assert keys(plain) == {key for key in every if not key[2]}
    bare, _ = build(found, None, replace(how, plan=RftPlan(keep_hint=False)))
    assert keys(bare) == every
    assert not any("Known beforehand" in row["messages"][0]["content"] for row in bare)
    easy, _ = build(found, None, replace(how, plan=RftPlan(keep_easy=True)))
    assert {row["item"] for row in easy} > {row["item"] for row in plain}


def test_the_recorded_samples_are_a_result_file(tmp_path: Path) -> None:
    found, how = sort(items(1)), settings(tmp_path)
    sample(found, how)
    rows = read_results(tmp_path / "samples.parquet")
    assert len(rows) == 3 * len(SCRIPTS)
    assert {row.judge_identity for row in rows} == {POINTWISE.identity}


def test_general_rows_are_mixed_in_at_the_ratio(tmp_path: Path) -> None:
    file = tmp_path / "general.jsonl"
    lines: list[dict[str, Any]] = [{"prompt": f"Say {place}."} for place in range(8)]
    for place in range(4):
        said = {"role": "assistant", "content": f"Hello {place}"}
        lines.append({"messages": [{"role": "user", "content": "Hi"}, said]})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found, how = sort(items()), settings(tmp_path / "out", ratio=0.5)
    general = load_general(str(file))
    sample(found, how, general)
    rows, report = build(found, general, how)
    judged = [row for row in rows if row["task"] == "judge"]
    mixed = [row for row in rows if row["task"] == "general"]
    assert report.general is not None
    assert len(mixed) == report.general.wanted == round(0.5 * len(judged))
    assert report.general.given + report.general.distilled == len(mixed)
    for row in mixed:
        asked = row["messages"][-1]["content"]
        assert row["completion"].startswith(f"An answer to {asked!r}." if row["model"] else "Hello")
    more, short = build(found, general, replace(how, plan=RftPlan(ratio=100)))
    assert short.general is not None
    assert short.general.wanted > short.general.there == 12
    assert len(more) - len(judged) == short.general.given + short.general.distilled


def test_rows_as_parquet_are_those_as_json_lines(tmp_path: Path) -> None:
    found, how = sort([*items(), alone("s", "mixed-told", 1)]), settings(tmp_path)
    sample(found, how)
    rows, _ = build(found, None, how)
    lines = write_rows(rows, tmp_path, "jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert pq.read_table(write_rows(rows, tmp_path, "parquet")).to_pylist() == rows


def test_what_cannot_be_sampled_is_told() -> None:
    tied = replace(item("t", "easy"), gold=(1.0, 1.0))
    bare = replace(item("b", "easy"), gold=None)
    rated = replace(alone("r", "easy", 1), gold=(7.0,))
    found = sort([tied, bare, rated, item("ok", "easy")])
    assert [one.item_id for one in found.skipped] == ["t", "b", "r"]
    assert [one.id for work in found.works for one in work.items] == ["ok"]
    # A comparing judge cannot take a single candidate.
    assert "pairwise" in sort([alone("s", "easy", 1)], PAIRWISE).skipped[0].reason


def test_several_best_candidates_are_cut_to_one() -> None:
    both = replace(item("t", "easy", 3), gold=(1.0, 1.0, 0.0))
    (work,) = sort([both]).works
    assert work.items[0].gold == (1.0, 0.0)


@pytest.mark.parametrize(
    "judge", [build_judge("pairwise", both_orders=True), build_judge("tokenprob"), build_judge("math")]
)
def test_judges_without_one_sampled_text_are_refused(judge: Judge) -> None:
    asked = replace(item("q", "easy"), reference="4")
    assert "one prompt with one text" in sort_items([asked], judge).skipped[0].reason


def test_plans_that_keep_nothing_are_refused() -> None:
    wrongs: tuple[dict[str, Any], ...] = (
        {"n": 0},
        {"n": 1},
        {"hint": False, "unhinted": False},
        {"hint": False, "hint_strength": True},
    )
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            RftPlan(**wrong)
    assert RftPlan(n=1, keep_easy=True).n == 1


def test_general_rows_that_are_wrong_are_named(tmp_path: Path) -> None:
    file = tmp_path / "general.jsonl"
    wrong = ('{"text": "x"}', '{"prompt": ""}', '{"prompt": "a", "completion": " "}', '{"messages": [{"role": 1}]}')
    for line in wrong:
        file.write_text(line + "\n")
        with pytest.raises(InputError, match="line 1"):
            load_general(str(file))
