"""The figures of the shipped judge by hand, and what its sets promise."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.shipped_judge import sets
from benchmarks.shipped_judge.card import tables, write
from benchmarks.shipped_judge.figures import Answered, Rates, either, summary
from benchmarks.shipped_judge.leaks import leaked, trained_prompts
from benchmarks.shipped_judge.pairs import rates
from benchmarks.shipped_judge.rules import exact, groups

from assay.core.types import Candidate, ChatPrompt, Draw, Item, Message
from assay.judges.extract import final_answer
from assay.judges.verifier import VerifierJudge


def one(gold: float, said: float | None, kind: str = "a", form: str = "f") -> Answered:
    return Answered(gold=gold, said=said, kind=kind, form=form, language="en")


def test_balanced_accuracy_is_the_mean_of_both_rates_and_no_verdict_is_never_right() -> None:
    """Right answers: 3 of 4; wrong ones: 1 of 2, the other without a verdict."""
    found = Rates.of([one(1, 1), one(1, 1), one(1, 1), one(1, 0), one(0, 0), one(0, None)])
    assert (found.tpr, found.tnr, found.balanced, found.silent) == (0.75, 0.5, 0.625, 1)
    assert Rates.of([one(0, 0)]).balanced == 1
    assert Rates.of([]).balanced is None


def test_groups_of_a_set() -> None:
    found = summary([one(1, 1, "a", "latex"), one(0, 1, "b", "digit")])
    assert found["kind"]["a"]["balanced"] == 1
    assert found["kind"]["b"]["tnr"] == 0
    assert list(found["form"]) == ["+ latex", "- digit"]


def test_a_rule_first_and_the_judge_for_the_rest() -> None:
    assert either([1, 0, None, 0], [0, 1, 1, None]) == [1, 1, 1, None]


def test_the_figures_of_a_card_are_those_of_the_result_files(tmp_path: Path) -> None:
    """Of 2 right answers 1 is seen, of 2 wrong ones both: 75 %. The later file has the set again, all right."""
    half = summary([one(1, 1, "a"), one(1, 0, "b"), one(0, 0, "a"), one(0, 0, "b")])
    sure = summary([one(1, 1), one(0, 0)])
    pair = {"greedy": {"n": 4, "accuracy": 0.75, "ties": 0.25, "no_verdict": 0.0}}
    found = {"held, written": half, "held: exact match": sure, "pairs": pair}
    verifier, kind, *_, weakest, pointwise = tables(found)
    assert verifier["rows"][0] == ["held", "this judge", 4, 75.0, "30.1 to 95.4", 50.0, 100.0, 0]
    assert verifier["rows"][1][:4] == ["held", "exact match", 2, 100.0]
    assert [row[:4] for row in kind["rows"]] == [["held", "a", 2, 100.0], ["held", "b", 2, 50.0]]
    assert weakest["rows"] == [["+ f", 2, 50.0], ["- f", 2, 100.0]]
    assert pointwise["rows"] == [["greedy", 4, 75.0, 25.0, 0.0]]
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    for file, results in zip(files, (found, {"held, written": sure}), strict=True):
        file.write_text(json.dumps({"results": results}))
    base = {"model": "m", "source": "s", "state_sha256": "ab" * 32}
    card = {"name": "x", "summary": "s", "license": "l", "base": base, "judges": {"verifier": {"target": "forms"}}}
    (tmp_path / "card.json").write_text(json.dumps(card))
    write(tmp_path, files)
    written = json.loads((tmp_path / "card.json").read_text())
    assert written["figures"][0]["rows"][0][3] == 100.0
    assert written["name"] == "x"


def test_pairs_a_tie_is_wrong() -> None:
    item = Item(
        id="x",
        messages=(Message(role="user", content="q"),),
        candidates=(Candidate(text="a"), Candidate(text="b")),
        gold=(0.0, 1.0),
    )
    found = rates([item] * 4, [(1.0, 9.0), (5.0, 5.0), None, (9.0, 1.0)])
    assert found == {"n": 4, "accuracy": 0.25, "ties": 0.25, "no_verdict": 0.25}


@pytest.mark.parametrize("side", ["train", "held"])
def test_right_answers_never_repeat_the_reference_and_wrong_ones_are_near_misses(side: str) -> None:
    found = sets.verified(side, 460)  # pyright: ignore[reportArgumentType]
    assert Counter(each.item.gold for each in found) == {(1.0,): 230, (0.0,): 230}
    assert set(Counter(each.kind for each in found).values()) == {20}
    assert all(final_answer(e.item.candidates[0].text) != e.item.reference for e in found if e.item.gold == (1.0,))
    assert not {each.form for each in found} & sets.NO_MISS
    assert [each.item for each in found] == [each.item for each in sets.verified(side, 460)]  # pyright: ignore[reportArgumentType]


def test_attacks_are_wrong_and_those_of_the_audit_are_among_them() -> None:
    found = sets.attacks(1)
    assert {each.item.gold for each in found} == {(0.0,)}
    assert any(each.form == "audit: turn" for each in found)


def test_few_items_and_none_come_to_an_end() -> None:
    assert sets.attacks(0) == []
    assert sets.verified("held", 0) == []
    assert set(Counter((each.kind, each.item.gold) for each in sets.verified("held", 10)).values()) == {1}


def test_hedges_are_wrong_and_counted_beside_right_answers_and_near_misses() -> None:
    hedged, held = sets.hedges(5), sets.verified("held", 40)
    assert [each.item.gold for each in hedged] == [(0.0,)] * 5
    found = groups(held, {"hedges": hedged})
    assert len(found["right, written otherwise"]) == len(found["near misses"]) == len(held) / 2
    assert sum(len(each) for name, each in found.items() if name.startswith("near misses: ")) == len(held) / 2
    assert exact([each.item for each in found["right, written otherwise"]]) == [0.0] * (len(held) // 2)


def test_prompts_among_the_rows_trained_on_are_counted_whatever_their_form(tmp_path: Path) -> None:
    measured = sets.verified("held", 40)[:3]
    rows: list[str] = []
    for judge, one in zip([VerifierJudge(language="zh"), VerifierJudge(forms=True)], measured, strict=False):
        prompt = judge.plan(one.item, Draw(vote=0, seed=7, order=(0,)))[0].prompt
        assert isinstance(prompt, ChatPrompt)
        turns = [{"role": message.role, "content": message.text} for message in prompt.messages]
        rows.append(json.dumps({"prompt_messages": turns, "completion": "1"}))
    file = tmp_path / "train.jsonl"
    file.write_text("\n".join([*rows, rows[0]]) + "\n")
    trained = trained_prompts(file)
    assert len(trained) == 2
    assert leaked(measured, trained) == 2
    assert leaked(sets.pairs(2), trained) == 0
