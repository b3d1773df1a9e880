from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow
from assay.report.sample import MOST_CHARACTERS, agreement, pick, readable, sample


def failed(i):
    return ResultRow(item_id=f"f{i}", judge="j", outcome="timeout")


def judged(i, score=1.0):
    return ResultRow(item_id=f"v{i}", judge="j", outcome="verdict", scores=(score,), gold=(1.0,))


def test_a_small_run_is_shown_whole_failures_and_disagreements_first():
    rows = [judged(0), judged(1, 0.0), failed(2), judged(3)]
    shown = sample([rows], [], [])
    assert [row["item"] for row in shown.rows] == ["f2", "v1", "v0", "v3"]
    assert [row["agrees"] for row in shown.rows] == [None, False, True, True]
    assert shown.total == 4


def test_a_large_run_leaves_room_for_each_kind():
    rows = [failed(i) if i % 2 else judged(i, float(i % 3 == 0)) for i in range(10_000)]
    shown = sample([rows], [], [])
    kinds = [row["outcome"] if row["outcome"] != "verdict" else row["agrees"] for row in shown.rows]
    assert (len(kinds), shown.total) == (1500, 10_000)
    assert (kinds.count("timeout"), kinds.count(False), kinds.count(True)) == (750, 375, 375)


@given(st.lists(st.sampled_from(["f", "w", "r"]), max_size=60), st.integers(1, 40))
def test_pick_takes_as_many_as_there_is_room_for_and_none_twice(kinds, most):
    rows = [failed(0) if kind == "f" else judged(0) for kind in kinds]
    agrees = [{"f": None, "w": False, "r": True}[kind] for kind in kinds]
    found = pick(rows, agrees, most)
    assert len(found) == len(set(found)) == min(most, len(kinds))
    assert found == sorted(found)


def test_long_texts_are_cut_until_the_page_can_be_opened():
    rows = [
        ResultRow(item_id=f"q{i}", judge="j", outcome="verdict", text="x" * 9000, prompt="y" * 9000)
        for i in range(2000)
    ]
    shown = sample([rows], [], [])
    assert sum(len(row["text"]) + len(row["prompt"]) for row in shown.rows) <= MOST_CHARACTERS
    assert len(shown.rows) == 1500
    assert "characters left out" in shown.rows[0]["text"]


def test_questions_come_along_once_for_the_rows_that_are_shown():
    item = Item(
        id="v1", messages=(Message(role="user", content="q?"),), candidates=(Candidate(text="a"),), reference="r"
    )
    other = Item(id="unseen", messages=item.messages, candidates=item.candidates)
    shown = sample([[judged(1), judged(1), judged(2)]], [item, other], [])
    assert shown.items == {"v1": {"question": "q?", "candidates": ["a"], "reference": "r"}}


def test_readable_keeps_both_ends_and_names_what_cannot_be_seen():
    assert readable("abcdefghij", 10) == "abcdefghij"
    assert readable("a" * 6 + "b" * 6, 6) == "aaa\n[... 6 characters left out ...]\nbbb"
    assert readable("x\u202ey\u200bz\x00\ud800\n\t", 99) == "x⟨U+202E⟩y⟨U+200B⟩z⟨U+0000⟩⟨U+D800⟩\n\t"


def test_agreement_of_one_judgment():
    assert agreement(judged(1, 0.5), unit=True) is True
    assert agreement(judged(1, 0.4), unit=True) is False
    assert agreement(judged(1, 7.0), unit=False) is None
    assert agreement(failed(1), unit=True) is None
    both = ResultRow(item_id="a", judge="j", outcome="verdict", n=2, scores=(3.0, 3.0), gold=(1.0, 0.0))
    assert agreement(both, unit=False) is False
