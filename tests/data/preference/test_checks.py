from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Candidate, Item, Message
from assay.data.preference import Contamination, Doubles, Lengths, unique_best, words_of
from assay.data.preference.lengths import SourceLengths


def item(question, *texts, gold=None, **metadata):
    return Item(
        id="i",
        messages=(Message(role="user", content=question),),
        candidates=tuple(Candidate(text=text) for text in texts),
        gold=gold,
        metadata=metadata,
    )


def test_doubles_are_exact_or_differ_in_case_marks_and_order():
    doubles = Doubles()
    assert doubles.add(item("What is it?", "A cat.", "A dog.")) is None
    assert doubles.add(item("What is it?", "A cat.", "A dog.")) == "exact"
    assert doubles.add(item("What is it?", "A dog.", "A cat.")) == "exact"
    assert doubles.add(item("what is it", "a  cat", "A dog!")) == "normalised"
    assert doubles.add(item("What is it?", "A cat.", "A cow.")) is None
    assert (doubles.exact, doubles.normalised) == (2, 1)


def test_texts_of_marks_alone_are_not_all_the_same():
    doubles = Doubles()
    assert doubles.add(item("?", "!!")) is None
    assert doubles.add(item("?", "...")) is None


PROMPT = "Write a short story about a fox who learns to fly over the tall green hills at night"


def test_a_shared_run_of_13_words_is_found_in_other_words():
    contamination = Contamination()
    assert contamination.learn("bench", [item(PROMPT)]) == 1
    found = contamination.find(item("Please: WRITE a short story about a fox, who learns to fly over the wall"))
    assert found is not None
    assert found.benchmark == "bench"
    # 15 words, so 3 runs of 13; only the one from "write" to "the" is shared: 1 of 3.
    assert found.words == "write a short story about a fox who learns to fly over the"
    assert abs(found.share - 1 / 3) < 1e-9
    assert contamination.find(item("A fox who learns to fly over the tall green hills by day")) is None


def test_a_short_prompt_is_found_only_whole():
    contamination = Contamination()
    contamination.learn("bench", [item("What is 2 + 2?")])
    assert contamination.find(item("what is 2+2")).share == 1
    assert contamination.find(item("What is 2 + 2 times 3?")) is None
    assert contamination.find(item("???")) is None


def test_chinese_characters_are_words():
    assert words_of("两个 apples，３只！") == ("两", "个", "apples", "3", "只")
    contamination = Contamination()
    contamination.learn("bench", [item("请写一段关于狐狸学会飞翔的短文，要求语言优美。")])
    assert contamination.find(item("题目：请写一段关于狐狸学会飞翔的短文")) is not None


@given(st.text(max_size=200))
def test_a_prompt_is_always_found_in_itself(text):
    contamination = Contamination()
    contamination.learn("bench", [item(text)])
    assert (contamination.find(item(text)) is not None) == bool(words_of(text))


def test_unique_best_keeps_one_of_the_best_and_all_worse():
    assert unique_best(item("q", "a", "b", gold=(1.0, 0.0))).gold == (1, 0)
    assert unique_best(item("q", "a", "b", gold=(0.5, 0.5))) is None
    assert unique_best(item("q", "a")) is None
    assert unique_best(item("q", "a", gold=(0.0,))).gold == (0,)
    many = item("q", "a", "b", "c", "d", gold=(1.0, 0.0, 1.0, 0.0))
    kept = unique_best(many)
    assert sorted(kept.gold) == [0, 0, 1]
    assert kept == unique_best(many)
    assert {one.text for one in kept.candidates} >= {"b", "d"}


def test_lengths_tell_what_length_gives_away():
    lengths = Lengths()
    lengths.add(item("one two three", "a b c", "a", gold=(1.0, 0.0), source="s"), "file")
    lengths.add(item("one", "a", "a b c d", gold=(1.0, 0.0), source="s"), "file")
    lengths.add(item("one", "a", gold=(1.0,)), "file")
    found = lengths.sources["s"]
    assert (found.items, found.decided, found.longest, found.first) == (2, 2, 1, 2)
    assert found.sizes == {2: 2}
    assert found.quartiles("answers") == (2.0, 3.7, 4.0)
    assert SourceLengths().quartiles("answers") is None
    assert (lengths.sources["file"].single, lengths.sources["file"].right) == (1, 1)
