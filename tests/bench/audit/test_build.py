from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from assay.bench.audit.build import build
from assay.bench.audit.plan import AuditPlan
from assay.bench.audit.tag import Tag, read_tag, tagged
from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message
from assay.data.demo import load_demo
from assay.judges import build_judge
from assay.judges.probes import PROBES
from assay.judges.refusals import refusal

from .scripted import pairs


def tags(items: tuple[Item, ...]) -> list[Tag]:
    found = [read_tag(item.metadata) for item in items]
    return [tag for tag in found if tag is not None]


def everything(item: Item) -> None:
    return None


def test_what_is_asked_about_a_pair() -> None:
    built = build(pairs(3), AuditPlan(attack_items=2, repeat_items=2), everything)
    asked = Counter((tag.family, tag.variant) for tag in tags(built.probes) if tag.family != "attack")
    assert asked == {
        ("base", ""): 3,
        ("order", "swapped"): 3,
        ("length", "matched"): 3,
        ("length", "worse longer"): 3,
        ("style", "worse dressed up"): 3,
    }
    attacks = [tag for tag in tags(built.probes) if tag.family == "attack"]
    assert len(attacks) == 2 * len(PROBES)
    assert {tag.place for tag in attacks} == {0, 1}, "attacks stand before the good answer as well as behind it"
    assert len(built.repeats) == 2
    assert len({item.id for item in built.probes}) == len(built.probes)


def test_only_the_parts_that_are_wanted() -> None:
    built = build(pairs(5), AuditPlan(parts=("length",)), everything)
    assert {tag.family for tag in tags(built.probes)} == {"base", "length"}
    assert built.repeats == ()


def test_the_better_answer_stands_in_either_place_and_other_records_change_nothing() -> None:
    built = build(pairs(40), AuditPlan(items=10), everything)
    base = [item for item, tag in zip(built.probes, tags(built.probes), strict=True) if tag.family == "base"]
    assert len(base) == 10
    assert built.left == 30
    assert {item.gold for item in base} == {(1.0, 0.0), (0.0, 1.0)}
    again = build(pairs(40)[::-1], AuditPlan(items=10), everything)
    assert {item.id for item in again.probes} == {item.id for item in built.probes}
    other = build(pairs(40), AuditPlan(items=10, seed=1), everything)
    assert {item.id for item in other.probes} != {item.id for item in built.probes}


def test_many_candidates_become_a_pair_with_one_of_the_best() -> None:
    built = build(load_demo(), AuditPlan(items=200, parts=()), lambda item: None if item.n == 2 else "not two")
    assert len(built.probes) == 107
    assert all(item.gold is not None and sorted(item.gold) == [0.0, 1.0] for item in built.probes)


def test_of_several_pairs_one_with_an_answer_of_the_judges_own_is_taken() -> None:
    item = Item(
        id="q",
        messages=(Message(role="user", content="?"),),
        candidates=tuple(Candidate(text=text, author=text) for text in ("a", "b", "mine", "d")),
        gold=(1.0, 0.0, 0.0, 0.0),
    )
    for seed in range(5):
        (base,) = build([item], AuditPlan(parts=(), seed=seed), everything, own=("org/Mine",)).probes
        assert {one.author for one in base.candidates} == {"a", "mine"}


def test_a_judge_of_single_answers_gets_them_one_by_one() -> None:
    judge = build_judge("pointwise", mode="0-1")
    built = build(pairs(2), AuditPlan(parts=("attacks", "order"), attack_items=1), lambda item: refusal(judge, item))
    base = [item for item, tag in zip(built.probes, tags(built.probes), strict=True) if tag.family == "base"]
    assert [item.id for item in base] == ["q0/1", "q0/2", "q1/1", "q1/2"]
    assert [item.gold for item in base] == [(1.0,), (0.0,)] * 2
    attacks = [item for item, tag in zip(built.probes, tags(built.probes), strict=True) if tag.family == "attack"]
    assert len(attacks) == len(PROBES)
    assert all(item.n == 1 for item in attacks)


def test_what_the_judge_cannot_take_is_named() -> None:
    judge = build_judge("pairwise")
    single = replace(pairs(1)[0].only(0), id="single")
    built = build([single, *pairs(2)], AuditPlan(), lambda item: refusal(judge, item))
    assert list(built.refused) == ["single"]
    assert built.refused["single"].startswith("item 'single' has 1 candidate, and judge 'pairwise' compares")
    twice = [single, replace(single, id="too"), replace(pairs(1)[0], id="mute", messages=())]
    with pytest.raises(
        InputError, match=r"none of the 3 items: 2 because the item has 1 candidate, .*; 1 because the "
    ):
        build(twice, AuditPlan(), lambda item: refusal(judge, item))


def test_an_item_that_is_called_like_a_probe_is_refused() -> None:
    twice = [pairs(1)[0], replace(pairs(2)[1], id="q0/swapped")]
    with pytest.raises(InputError, match="the id 'q0/swapped'"):
        build(twice, AuditPlan(), everything)


def test_labels_of_people_follow_their_answers() -> None:
    item = replace(pairs(1)[0], gold=None, metadata={"ann": "A", "ben": "tie", "cat": "A", "dan": None})
    plan = AuditPlan(annotators=("ann", "ben", "cat", "dan"), parts=())
    for seed in range(6):
        (base,) = build([item], plan.model_copy(update={"seed": seed}), everything).probes
        (tag,) = tags((base,))
        first = base.candidates[0].text == item.candidates[0].text
        won = (1.0, 0.0) if first else (0.0, 1.0)
        assert tag.humans == (won, (0.5, 0.5), won, None)
        assert base.gold == won
    with pytest.raises(InputError, match=r"item 'q0', human label 'ann'.*'Z'"):
        build([replace(item, metadata={**item.metadata, "ann": "Z"})], plan, everything)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("anna", r"--annotators 'anna' is a field of no item; did you mean 'ann'\? there are ann, ben"),
        ("zoe", r"'zoe' is a field of no item; there are ann, ben$"),
    ],
)
def test_an_annotator_who_is_nowhere_is_refused(said: str, told: str) -> None:
    items = [replace(item, metadata={"ann": "A", "ben": "B"}) for item in pairs(2)]
    with pytest.raises(InputError, match=told):
        build(items, AuditPlan(annotators=("ann", said)), everything)


def test_an_annotator_who_labelled_a_few_is_one() -> None:
    items = [replace(pairs(1)[0], metadata={"ann": "A"}), *pairs(3)[1:]]
    assert len(build(items, AuditPlan(annotators=("ann",), parts=()), everything).probes) == 3


def test_a_tag_comes_back() -> None:
    tag = Tag(of="q", family="attack", n=2, variant="dot", place=1, humans=((1.0, 0.0), None))
    item = tagged(pairs(1)[0], tag)
    assert read_tag(item.metadata) == tag
    assert read_tag({}) is None
