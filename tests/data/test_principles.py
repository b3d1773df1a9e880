import json

import pytest

from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow, item_to_row
from assay.data.principles import attach, is_right, load_given, load_stored, prompts, take
from assay.judges.principles import Principle, conversation_hash

TEXT = "Specific Criteria: Depth 70%, Form 30%\nAnalysis: x\nScores: \\boxed{7, 5}"


def item(name, question="q?", gold=(1.0, 0.0)):
    messages = (Message(role="user", content=question),)
    return Item(id=name, messages=messages, candidates=(Candidate(text="a"), Candidate(text="b")), gold=gold)


def row(of, scores, text=TEXT, outcome="verdict"):
    return ResultRow(
        item_id=of.id,
        judge="pointwise",
        outcome=outcome,
        scores=scores,
        gold=of.gold,
        n=of.n,
        text=text,
        model="m",
        item=item_to_row(of),
    )


def test_given_principles_are_read_from_toml(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        '[[principle]]\nname = "Depth"\nweight = 2\n[[principle]]\nname = "Form"\ntext = "neat"\nweight = 1\n'
    )
    found = (Principle(name="Depth", weight=2), Principle(name="Form", text="neat", weight=1))
    assert load_given(path) == found
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_given(path) == found, "a byte-order mark is no part of the text"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[principle]\n", "not valid TOML"),
        ("", r"\[\[principle\]\] tables, there is none"),
        ("[[criterion]]\nname = 'x'", "tables, got 'criterion'"),
        ("[[principle]]\nname = 'x'\nweight = true", "principle: 0.weight: must be a number, not true or false"),
        ("[[principle]]\nname = 'x'\nweight = -1", "principle: 0.weight: .*got -1"),
        ("[[principle]]\nname = 'x'\n[[principle]]\nname = 'x'", "two principles are called 'x'"),
    ],
)
def test_a_wrong_file_is_told_by_name_and_value(tmp_path, text, words):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"p\.toml: .*{words}"):
        load_given(path)


def test_a_file_that_is_not_there(tmp_path):
    for load in (load_given, load_stored):
        with pytest.raises(InputError, match=r"gone.*cannot be read: No such file"):
            load(tmp_path / "gone")


@pytest.mark.parametrize("line", ["{", "[]", '{"conversation": "x"}', '{"conversation": "x", "principles": []}', "3"])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "p.jsonl"
    path.write_text('\n{"conversation": "x", "principles": [{"name": "a"}]}\n' + line + "\n")
    with pytest.raises(InputError, match=r"p\.jsonl, line 3: "):
        load_stored(path)


def test_taken_principles_come_back_with_the_items_of_their_prompt(tmp_path):
    taken = take([row(item("i1"), (7.0, 5.0))])
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in taken.by_prompt.values()))
    same, other = attach([item("i2"), item("i3", "why?")], load_stored(path))
    assert same.metadata["principles"] == [
        {"name": "Depth", "text": "", "weight": 70.0},
        {"name": "Form", "text": "", "weight": 30.0},
    ]
    assert "principles" not in other.metadata
    (line,) = taken.by_prompt.values()
    assert (line["question"], line["judge"], line["model"]) == ("q?", "pointwise", "m")


def test_filtered_by_label_only_right_verdicts_count():
    rows = [
        row(item("i1"), (5.0, 7.0), "Specific Criteria: Wrong 100%"),
        row(item("i1"), (6.0, 6.0), "Specific Criteria: Tied 100%"),
        row(item("i1"), (7.0, 5.0), "Specific Criteria: Right 100%"),
        row(item("i1"), (8.0, 5.0), "Specific Criteria: Later 100%"),
        row(item("i2", "why?"), (8.0, 5.0), "no criteria"),
        row(item("i2", "why?"), None, outcome="parse_error"),
    ]
    taken = take(rows, right_only=True)
    (line,) = taken.by_prompt.values()
    assert [principle["name"] for principle in line["principles"]] == ["Right"]
    assert (taken.wrong, taken.unread) == (3, 1)
    everything = take(rows)
    assert [line["principles"][0]["name"] for line in everything.by_prompt.values()] == ["Wrong", "Depth"]
    assert (everything.wrong, everything.unread) == (0, 1)


def test_a_row_without_its_item_is_counted():
    bare = ResultRow(item_id="i", judge="pointwise", outcome="verdict", text=TEXT, scores=(1.0,))
    assert take([bare]).unread == 1


@pytest.mark.parametrize(
    ("scores", "gold", "right"),
    [
        ((7.0, 5.0), (1.0, 0.0), True),
        ((5.0, 7.0), (1.0, 0.0), False),
        ((7.0, 7.0), (1.0, 0.0), False),
        ((7.0, 5.0, 6.0), (1.0, 0.0, 0.5), True),
        ((7.0, 5.0), (1.0, 1.0), False),
        ((7.0, 5.0), None, False),
    ],
)
def test_right_is_eq_10(scores, gold, right):
    assert is_right(row(item("i", gold=gold), scores)) is right


def test_a_single_candidate_is_right_where_it_has_its_gold_as_score():
    one = ResultRow(item_id="i", judge="pointwise", outcome="verdict", scores=(1.0,), gold=(1.0,), n=1)
    assert is_right(one)
    assert not is_right(ResultRow(item_id="i", judge="p", outcome="verdict", scores=(0.0,), gold=(1.0,), n=1))


def test_a_choice_can_be_right_too():
    chosen = ResultRow(item_id="i", judge="pairwise", outcome="verdict", choice=1, gold=(0.0, 1.0), n=2)
    assert is_right(chosen)


def test_prompts_are_asked_about_once():
    found = prompts([item("i1"), item("i2"), item("i3", "why?")])
    assert [one.id for one in found] == [conversation_hash(item("i1")), conversation_hash(item("x", "why?"))]
    assert [one.candidates for one in found] == [(Candidate(text=""),)] * 2


def test_a_conversation_that_no_judge_takes_keeps_its_name():
    image = Message(role="user", content=({"type": "image_url"},))
    odd = Item(id="odd", messages=(image,), candidates=())
    assert [one.id for one in prompts([odd])] == ["odd"]
    assert attach([odd], {}) == (odd,)
