from datetime import date

import pytest

from assay.core.types import Candidate, Message
from assay.data import FieldMap, RowError
from assay.data.rows import jsonable, to_item

FIELDS = FieldMap(prompt="q", candidates=("c",), reference="r", gold=("g",), id="id")


def item(row, fields=FIELDS, need=(), cells=False):
    return to_item(row, fields, "file-1", need=need, cells=cells)


def test_a_plain_row():
    found = item(
        {"q": "2+2?", "c": ["4", "5"], "r": 4, "g": [True, False], "id": 17, "topic": "sum", "long": "x" * 201}
    )
    assert found.messages == (Message(role="user", content="2+2?"),)
    assert found.candidates == (Candidate(text="4"), Candidate(text="5"))
    assert (found.reference, found.gold, found.id) == ("4", (1.0, 0.0), "17")
    assert found.metadata == {"topic": "sum"}


def test_an_item_without_an_id_is_called_after_its_line():
    assert item({"q": "x", "c": "y"}).id == "file-1"
    assert item({"q": "x", "c": "y", "id": ""}).id == "file-1"
    assert item({"q": "x", "c": "y", "id": 0}).id == "0"


def test_a_chat_prompt_and_its_parts():
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    found = item({"q": chat, "c": "a cat"})
    assert [m.role for m in found.messages] == ["system", "user"]
    assert found.question == "What is this?"


def test_the_forms_of_a_candidate():
    chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "from a chat"}]
    values = ["text", 3, 0.5, {"text": "named", "author": "m"}, {"answer": "rmb", "llm_name": "n"}, chat, ""]
    found = item({"q": "q", "c": values})
    assert [c.text for c in found.candidates] == ["text", "3", "0.5", "named", "rmb", "from a chat", ""]
    assert [c.author for c in found.candidates] == [None, None, None, "m", "n", None, None]


def test_chat_candidates_bring_their_prompt():
    def chat(answer):
        return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": answer}]

    found = item({"w": chat("hello"), "l": chat("go away")}, FieldMap(chosen=("w",), rejected=("l",)))
    assert found.messages == (Message(role="user", content="hi"),)
    assert [c.text for c in found.candidates] == ["hello", "go away"]
    assert found.gold == (1.0, 0.0)


def test_chats_that_continue_different_conversations_are_no_pair():
    row = {
        "w": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        "l": [{"role": "user", "content": "bye"}, {"role": "assistant", "content": "hello"}],
    }
    with pytest.raises(RowError, match="'l' continues another conversation"):
        item(row, FieldMap(chosen=("w",), rejected=("l",)))


def test_lists_of_chosen_and_rejected():
    found = item({"q": "q", "w": ["a", "b", "c"], "l": ["d"]}, FieldMap(prompt="q", chosen=("w",), rejected=("l",)))
    assert found.gold == (1.0, 1.0, 1.0, 0.0)


def test_several_paths_in_order():
    row = {"q": "q", "m1": {"s": "x", "ok": False}, "m2": {"s": "y", "ok": True}}
    found = item(row, FieldMap(prompt="q", candidates=("m2.s", "m1.s"), gold=("m2.ok", "m1.ok")))
    assert [c.text for c in found.candidates] == ["y", "x"]
    assert found.gold == (1.0, 0.0)


def test_the_reference_after_a_marker():
    fields = FieldMap(prompt="q", reference="r", reference_after="####")
    assert item({"q": "q", "r": "1 + 1 #### no\n#### 2 "}, fields).reference == "2"
    assert item({"q": "q", "r": "2"}, fields).reference == "2"
    assert item({"q": "q", "r": ["2"]}, fields).reference == "2"


def test_lists_in_csv_cells_are_json_and_only_there():
    row = {"q": "q", "c": '["4", "5"]', "g": "[1, 0]"}
    found = item(row, cells=True)
    assert [c.text for c in found.candidates] == ["4", "5"]
    assert found.gold == (1.0, 0.0)
    assert item({"q": "q", "c": '["4", "5"]', "g": "1"}).candidates == (Candidate(text='["4", "5"]'),)
    assert item({"q": "q", "c": "[1, 2]", "g": "1"}, cells=True).candidates == (Candidate(text="[1, 2]"),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"c": "x"}, "prompt field 'q' is missing"),
        ({"q": "  ", "c": "x"}, "prompt 'q' is blank"),
        ({"q": 5, "c": "x"}, "'q' must be a text or a list of role and content, not 5"),
        ({"q": [{"role": "user"}], "c": "x"}, "role and content"),
        ({"q": [{"role": "user", "content": None}], "c": "x"}, "content of a turn"),
        ({"q": "q"}, "candidate field 'c' is missing"),
        ({"q": "q", "c": [None]}, "candidate 'c' must be a text, not None"),
        ({"q": "q", "c": {"score": 1}}, "candidate 'c' must be a text"),
        ({"q": "q", "c": True}, "candidate 'c' must be a text, not True"),
        ({"q": "q", "c": ["x", "y"], "g": [1]}, "'g': gold holds 1 values for 2 candidates"),
        ({"q": "q", "c": "x", "r": {"a": 1}}, "reference 'r' must be a text or a number"),
        ({"q": "q", "c": "x", "id": [1]}, "id 'id' must be a text or a number"),
    ],
)
def test_what_a_row_lacks_is_named(row, reason):
    with pytest.raises(RowError, match=reason):
        item(row)


def test_what_is_needed_is_asked_for():
    row = {"q": "q", "c": "x"}
    assert item(row).gold is None
    assert item(row).reference is None
    with pytest.raises(RowError, match="gold is missing: 'g'"):
        item(row, need=("gold",))
    with pytest.raises(RowError, match="the reference is missing: 'r'"):
        item(row, need=("reference",))
    with pytest.raises(RowError, match="no candidate answer"):
        item({"q": "q", "c": []}, need=("candidates",))
    assert item({"q": "q", "c": []}).candidates == ()


def test_metadata_by_name_and_by_object():
    row = {"q": "q", "c": "x", "a": {"b": 1}, "d": float("nan"), "metadata": {"when": date(2026, 1, 2), "l": (1,)}}
    assert item(row, FIELDS.model_copy(update={"metadata": ("a.b", "none")})).metadata == {"a.b": 1}
    assert item(row).metadata == {"d": None, "when": "2026-01-02", "l": [1]}


def test_jsonable_makes_no_nan_and_keeps_text():
    assert jsonable({1: {"x": float("inf"), "y": b"z"}}) == {"1": {"x": None, "y": "b'z'"}}


@pytest.mark.parametrize(("value", "text"), [("4", "4"), (4, "4"), (["4"], "4"), ([], None), (float("nan"), None)])
def test_the_forms_of_a_reference(value, text):
    assert item({"q": "q", "c": "c", "r": value}).reference == text


@pytest.mark.parametrize("value", [["4", "5"], True, {"a": 1}])
def test_what_is_no_reference_is_refused(value):
    with pytest.raises(RowError, match="the reference 'r' "):
        item({"q": "q", "c": "c", "r": value})


def test_a_table_holds_metadata_and_a_reference_as_json_text():
    row = {"q": "q", "c": "c", "r": '["4"]', "metadata": '{"level": 3}'}
    found = item(row, cells=True)
    assert (found.reference, found.metadata) == ("4", {"level": 3})
    found = item(row)
    assert (found.reference, found.metadata) == ('["4"]', {"metadata": '{"level": 3}'})
