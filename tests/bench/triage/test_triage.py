"""From a run to a sheet, and from a labelled sheet to counts; the paper's own counts by hand."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.standing import Place
from assay.bench.triage.cases import Cases, sample, wrong_cases
from assay.bench.triage.counts import count
from assay.bench.triage.sheet import Cause, Labelled, is_sheet, read_sheet, write_sheet
from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow, item_to_row


def row(
    name: str, scores: tuple[float, ...] | None, gold: tuple[float, ...] | None = (1.0, 0.0), **said: object
) -> ResultRow:
    item = Item(
        id=name,
        messages=(Message(role="user", content=f"Question {name}?"),),
        candidates=tuple(Candidate(text=f"=SUM({place})") for place in range(len(gold or scores or (0, 0)))),
        gold=gold,
    )
    values: dict[str, object] = {
        "item_id": name,
        "judge": "pointwise",
        "outcome": "verdict" if scores is not None else "parse_error",
        "scores": scores,
        "gold": gold,
        "n": item.n,
        "text": f"Reply {name}",
        "item": item_to_row(item),
        "metadata": {"subset": name[0]},
        **said,
    }
    return ResultRow(**values)  # type: ignore[arg-type]


def run() -> list[ResultRow]:
    return [
        row("a-right", (8.0, 2.0)),
        row("a-wrong", (2.0, 8.0)),
        row("a-tie", (5.0, 5.0)),
        row("b-wrong", (1.0, 9.0)),
        row("b-failed", None),
        row("b-even", (1.0, 9.0), (1.0, 1.0)),
        row("b-unlabelled", (1.0, 9.0), None),
    ]


def test_what_is_wrong_and_what_is_not() -> None:
    cases = wrong_cases(run())
    assert [(case.item.id, case.stratum, case.tied) for case in cases.wrong] == [
        ("a-wrong", "a", False),
        ("a-tie", "a", True),
        ("b-wrong", "b", False),
    ]
    assert (cases.right, cases.failed, cases.undecided) == (1, 1, 2)
    assert cases.by_stratum == {"a": 2, "b": 1}


def test_single_answers_are_wrong_on_a_scale_from_0_to_1() -> None:
    rows = [row("a-1", (1.0,), (0.0,)), row("a-2", (0.5,), (1.0,)), row("a-3", (0.2,), (1.0,))]
    assert [case.item.id for case in wrong_cases(rows).wrong] == ["a-1", "a-3"]
    assert wrong_cases([row("a-1", (7.0,), (0.0,))]).undecided == 1


def test_judgments_of_one_answer_each_are_one_case() -> None:
    whole = row("a-q", (0.0, 1.0))
    parts = [
        replace(
            whole,
            candidate=place,
            scores=(score,),
            gold=(gold,),
            n=1,
            item={**whole.item, "candidates": [f"answer {place}"], "gold": [gold]},
        )
        for place, (score, gold) in enumerate(((0.0, 1.0), (1.0, 0.0)))
    ]
    (case,) = wrong_cases(parts).wrong
    assert ([one.text for one in case.item.candidates], case.scores) == (["answer 0", "answer 1"], (0.0, 1.0))
    assert wrong_cases([parts[0], replace(parts[1], outcome="timeout", scores=None)]).failed == 1


def alone(name: str, score: float | None, *places: Place) -> ResultRow:
    """One answer's judgment, as ``assay bench run`` records it with a judge of single answers."""
    item = Item(id=f"{name}#0", messages=(Message(role="user", content="Q?"),), candidates=(Candidate(text=name),))
    told = {"subset": places[0].subset, "stands_in": [one.model_dump(mode="json") for one in places]}
    said = {"candidate": 0, "n": 1, "item": item_to_row(item), "metadata": told, "judge": "reward", "text": ""}
    return row(f"{name}#0", None if score is None else (score,), (places[0].gold or 0.0,), **said)


def test_answers_that_a_reward_model_scored_one_by_one_are_questions_again() -> None:
    """Good stands in two questions, of which it wins one: logits are on no scale from 0 to 1."""
    rows = [
        alone(
            "good",
            1.5,
            *(Place(unit=u, subset=s, place=p, of=2, gold=1) for u, s, p in (("q1", "a", 0), ("q2", "b", 1))),
        ),
        alone("bad", -2.0, Place(unit="q1", subset="a", place=1, of=2, gold=0)),
        alone("loud", 3.0, Place(unit="q2", subset="b", place=0, of=2, gold=0)),
        alone("half", 3.0, Place(unit="q3", subset="b", place=0, of=2, gold=0)),
        alone("kept", 3.0, Place(unit="q4", subset="b", place=0, of=2, gold=1)),
        alone("lost", None, Place(unit="q4", subset="b", place=1, of=2, gold=0)),
    ]
    cases = wrong_cases(rows)
    (case,) = cases.wrong
    assert (case.item.id, case.stratum, case.scores, case.gold) == ("q2", "b", (3.0, 1.5), (0, 1))
    assert [one.text for one in case.item.candidates] == ["loud", "good"]
    assert (cases.right, cases.failed, cases.undecided) == (1, 2, 0), "half a question, and one without all scores"


def test_a_run_is_divided_by_what_is_said() -> None:
    rows = [replace(one, metadata={"lang": one.item_id[2]}) for one in run()]
    assert wrong_cases(rows, "lang").by_stratum == {"w": 2, "t": 1}
    assert wrong_cases(rows).by_stratum == {"all": 3}
    with pytest.raises(InputError, match=r"no result has the metadata 'topic'.*there is lang"):
        wrong_cases(rows, "topic")
    with pytest.raises(InputError, match="several judges"):
        wrong_cases([*rows, replace(rows[0], judge="pairwise")])


@given(st.integers(1, 4), st.integers(0, 5), st.permutations(range(12)))
def test_the_sample_is_seeded_stratified_and_does_not_depend_on_the_order(
    each: int, seed: int, order: list[int]
) -> None:
    rows = [row(f"{'abc'[place % 3]}-{place}", (2.0, 8.0)) for place in range(12)]
    drawn = sample(wrong_cases(rows), each, seed)
    again = sample(wrong_cases([rows[place] for place in order]), each, seed)
    assert {case.item.id for case in drawn} == {case.item.id for case in again}
    assert len(drawn) == 3 * each
    ids = [case.item.id for case in sample(wrong_cases(rows), 4, seed)]
    assert len(set(ids)) == 12


def cases() -> Cases:
    return wrong_cases(run())


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_sheet_comes_back_labelled(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_sheet(path, sample(cases(), 10), cases())
    assert is_sheet(path)
    assert {one.cause for one in read_sheet(path)} == {None}
    labels = {"a-wrong": "Weights ", "b-wrong": "批评错误"}
    if name.endswith(".csv"):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert not [cell for one in rows for cell in one.values() if cell.startswith("=")], "no cell is a formula"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows({**one, "class": labels.get(one["id"], "")} for one in rows)
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        shown = {one["id"]: one["answers"] for one in lines}
        assert shown["a-wrong"].startswith("[1] gold 1, score 2\n=SUM(0)\n\n[2] gold 0, score 8")
        path.write_text("".join(json.dumps({**one, "class": labels.get(one["id"])}) + "\n" for one in lines))
    found = {one.id: (one.cause, one.stratum, one.stratum_wrong) for one in read_sheet(path)}
    assert found == {
        "a-wrong": (Cause.WEIGHTS, "a", 2),
        "a-tie": (None, "a", 2),
        "b-wrong": (Cause.CRITIQUE, "b", 1),
    }


def test_what_a_person_wrote_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("class\nlabel\n")
    with pytest.raises(InputError, match="may hold labels"):
        write_sheet(path, sample(cases(), 10), cases())
    assert path.read_text() == "class\nlabel\n"
    with pytest.raises(InputError, match=r"must end in \.csv or \.jsonl"):
        write_sheet(tmp_path / "t.txt", sample(cases(), 10), cases())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            {"class": "lazy", "id": "q", "stratum": "a", "stratum_wrong": 3},
            "no class 'lazy'; there are critique, weights",
        ),
        ({"class": "", "id": "q", "stratum": "a", "stratum_wrong": "many"}, "whole number, not 'many'"),
        ({"class": "", "id": "q", "stratum_wrong": 3}, "it lacks stratum"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, line: dict[str, object], said: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(line))
    with pytest.raises(InputError, match=f"line 1: .*{said}"):
        read_sheet(path)


def test_the_counts_of_the_paper() -> None:
    # DeepSeek-GRM, figure 8: ten cases of each of four benchmarks; critique, weights, principle, label.
    paper = {
        "RB": (4, 4, 1, 1),
        "PPE Preference": (5, 4, 1, 0),
        "PPE Correctness": (7, 3, 0, 0),
        "RMB": (5, 2, 0, 3),
    }
    rows = [
        Labelled(id="q", stratum=name, stratum_wrong=100, cause=cause)
        for name, counts in paper.items()
        for cause, times in zip(Cause, counts, strict=True)
        for _ in range(times)
    ]
    found = count(rows)
    assert [(one.cause, one.drawn.hits, one.drawn.n) for one in found.classes] == [
        ("critique", 21, 40),
        ("weights", 13, 40),
        ("principle", 2, 40),
        ("label", 4, 40),
    ]
    critique = found.classes[0]
    assert critique.by_stratum == {"RB": 4, "PPE Preference": 5, "PPE Correctness": 7, "RMB": 5}
    # Wilson at 21 of 40: 0.375 to 0.671.
    assert critique.drawn.low == pytest.approx(0.375, abs=1e-3)
    assert critique.drawn.high == pytest.approx(0.671, abs=1e-3)
    assert critique.run is not None
    assert critique.run.value == pytest.approx(21 / 40), "strata of one size weigh the same"


def test_a_run_is_estimated_by_the_size_of_its_strata() -> None:
    rows = [Labelled(id=f"a{i}", stratum="a", stratum_wrong=90, cause=Cause.CRITIQUE) for i in range(4)]
    rows += [Labelled(id=f"b{i}", stratum="b", stratum_wrong=10, cause=Cause.LABEL) for i in range(4)]
    critique, _, _, label = count(rows).classes
    assert critique.drawn.value == label.drawn.value == 0.5
    assert critique.run is not None
    assert label.run is not None
    assert (critique.run.value, label.run.value) == (pytest.approx(0.9), pytest.approx(0.1))
    # Wilson at 4 of 4 begins at 4 / (4 + 1.96^2) = 0.5101, so down 0.49 * 0.9 in a; b has 0 of 4, at its lower limit.
    assert critique.run.low == pytest.approx(0.9 - 0.9 * (1 - 4 / (4 + 1.96**2)))
    with_gap = count([*rows, Labelled(id="c", stratum="c", stratum_wrong=5, cause=None)])
    assert with_gap.classes[0].run is None
    assert (with_gap.labelled, with_gap.unlabelled, with_gap.strata["c"]) == (8, 1, (0, 5))
    assert count([]).classes[0].drawn.value is None
