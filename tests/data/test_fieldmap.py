import pytest

from assay.core.errors import InputError
from assay.data import FieldMap


def test_parse():
    fields = FieldMap.parse(["candidates=6b.solution, 175b.solution", "gold=6b.ok,175b.ok", "messages=chat"])
    assert fields == FieldMap(candidates=("6b.solution", "175b.solution"), gold=("6b.ok", "175b.ok"), prompt="chat")
    assert str(fields) == "prompt=chat candidates=6b.solution,175b.solution gold=6b.ok,175b.ok"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["candidate=a"], "did you mean 'candidates'"),
        (["zzzzz=a"], "known are prompt, candidates"),
        (["prompt"], "write prompt=<path>"),
        (["prompt="], "write prompt=<path>"),
        (["candidates=a,,b"], "empty path"),
        (["prompt=a", "messages=b"], "given twice"),
        (["candidates=a", "chosen=b"], "not both"),
    ],
)
def test_parse_refuses(texts, message):
    with pytest.raises(InputError, match=message):
        FieldMap.parse(texts)


def test_over_wins_key_by_key():
    base = FieldMap(prompt="q", candidates=("a",), gold=("g",), reference="r", reference_after="####", id="i")
    assert FieldMap(prompt="p").over(base) == base.model_copy(update={"prompt": "p"})
    assert FieldMap(gold=("h",)).over(base).candidates == ("a",)
    assert FieldMap(metadata=()).over(base).metadata == ()


def test_new_candidates_do_not_keep_the_gold_of_others():
    base = FieldMap(prompt="q", candidates=("a", "b"), gold=("g",))
    assert FieldMap(candidates=("c",)).over(base) == FieldMap(prompt="q", candidates=("c",))


def test_a_new_reference_does_not_keep_the_cut_of_the_old_one():
    base = FieldMap(prompt="q", reference="answer", reference_after="####")
    assert FieldMap(reference="final").over(base) == FieldMap(prompt="q", reference="final")


def test_gold_over_chosen_and_rejected_keeps_their_order_as_candidates():
    base = FieldMap(prompt="q", chosen=("c",), rejected=("r",))
    assert FieldMap(gold=("g",)).over(base) == FieldMap(prompt="q", candidates=("c", "r"), gold=("g",))
