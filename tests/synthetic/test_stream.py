from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.judges.extract import final_answer
from assay.judges.probes import PROBES
from assay.synthetic.draws import SMALL, Draws, held_number, held_word
from assay.synthetic.kinds import KINDS, kinds_named
from assay.synthetic.problems import held_equations, held_stories, train_equations, train_stories
from assay.synthetic.record import SHAPES
from assay.synthetic.stream import Plan, generate, stream


@settings(max_examples=30, deadline=None)
@given(start=st.integers(0, 10**9), seed=st.integers(0, 10**6), side=st.sampled_from(["train", "held"]))
def test_any_slice_is_the_same_again(start, seed, side):
    plan = Plan(seed=seed, side=side)
    whole = list(stream(plan, start, start + 6))
    assert whole == [next(stream(plan, start + at, start + at + 1)) for at in range(6)]
    assert whole == list(islice(stream(plan, start), 6))


def test_ids_are_unique_and_seeds_differ():
    items = [one.item for one in stream(Plan(), 0, 2000)]
    assert len({item.id for item in items}) == 2000
    other = {one.item.question for one in stream(Plan(seed=1), 0, 2000)}
    assert len(other & {item.question for item in items}) < 200


@pytest.mark.parametrize("side", ["train", "held"])
def test_shapes_are_what_they_say(side):
    for generated in stream(Plan(side=side), 0, 3000):
        item = generated.item
        shape = item.id.split("-" + side + "-")[1].split("-")[0]
        low, high = {"single": (1, 1), "pair": (2, 2), "several": (4, 8)}[shape]
        assert low <= item.n <= high, item.id
        assert set(generated.gold) <= {0.0, 1.0}
        assert item.n == 1 or sum(generated.gold) == 1
        texts = [candidate.text for candidate in item.candidates]
        assert len(set(texts)) == len(texts), item.id
        assert len(generated.findings) == len(generated.forms) == item.n
        for gold, findings in zip(generated.gold, generated.findings, strict=True):
            assert (gold == 1) == all(finding.met for finding in findings)


def test_half_of_single_candidates_are_right_and_the_best_stands_anywhere():
    singles = list(stream(Plan(shapes=("single",)), 0, 8000))
    by_kind = Counter(one.kind for one in singles if one.gold == (1.0,))
    share = sum(by_kind.values()) / len(singles)
    assert abs(share - 0.5) < 0.025
    assert all(0.35 < by_kind[name] / (8000 / len(KINDS)) < 0.65 for name in KINDS)
    places = Counter(one.gold.index(1.0) for one in stream(Plan(shapes=("pair",)), 0, 4000))
    assert abs(places[0] / 4000 - 0.5) < 0.03


def test_held_out_texts_names_and_numbers_are_never_seen_in_training():
    templates = {
        side: {one.template for one in stream(Plan(side=side, shapes=("single",)), 0, 6000)}
        for side in ("train", "held")
    }
    assert len(templates["train"]) > 500
    assert not templates["train"] & templates["held"]
    questions = {side: {one.item.question for one in stream(Plan(side=side), 0, 3000)} for side in ("train", "held")}
    assert not questions["train"] & questions["held"]
    families = [train_stories.STORIES + train_equations.EQUATIONS, held_stories.STORIES + held_equations.EQUATIONS]
    train, held = ({family.__code__ for family in side} for side in families)
    assert not train & held


def test_words_and_numbers_are_drawn_from_their_side():
    from assay.synthetic import vocabulary

    for side in ("train", "held"):
        draws = Draws(kind="x", side=side, language="en", shape="single", seed=0, index=0)
        words = [draws.word(compose) for compose in vocabulary.SORTS["en"].values() for _ in range(200)]
        assert all(held_word(word) == (side == "held") for word in words)
        numbers = [draws.number(1, 10**6) for _ in range(500)]
        assert all(held_number(number) == (side == "held") for number in numbers if number >= SMALL)


def test_vocabularies_are_open():
    """A thousand draws of a sort give hundreds of different words, on the smaller side too."""
    from assay.synthetic import vocabulary

    draws = Draws(kind="x", side="train", language="en", shape="single", seed=0, index=0)
    for language in ("en", "zh"):
        for sort, compose in vocabulary.SORTS[language].items():
            words = {draws.word(compose) for _ in range(4000)}
            assert len(words) > (600 if language == "zh" or sort in ("place",) else 1000), sort


def test_right_answers_of_the_held_out_side_never_repeat_the_reference():
    for generated in stream(Plan(side="held", kinds=kinds_named(["answers"]), shapes=("single",)), 0, 3000):
        answer = final_answer(generated.item.candidates[0].text)
        if generated.gold == (1.0,):
            assert answer != generated.item.reference


def test_no_audit_probe_is_ever_trained_on():
    probes = {probe.text.strip() for probe in PROBES} - {""}
    for generated in stream(Plan(kinds=kinds_named(["answers"])), 0, 6000):
        for candidate in generated.item.candidates:
            assert candidate.text.strip() not in probes


def test_languages_are_chosen():
    assert {one.language for one in stream(Plan(languages=("zh",)), 0, 300)} == {"zh"}
    both = Counter(one.language for one in stream(Plan(kinds=kinds_named(["answers"])), 0, 3000))
    assert 0.2 < both["zh"] / 3000 < 0.4


def test_kinds_are_found_by_name_and_by_group():
    assert [kind.name for kind in kinds_named(["date", "problems"])] == ["date", "word-problem", "equation"]
    assert len(kinds_named([])) == len(KINDS)
    with pytest.raises(InputError, match="no kind 'dates'"):
        kinds_named(["dates"])
    with pytest.raises(InputError, match="no items in 'zh'; it has en"):
        generate(KINDS["letter"], language="zh")
    with pytest.raises(InputError, match="nothing to generate"):
        Plan(kinds=kinds_named(["letter"]), languages=("zh",))


def test_every_shape_of_every_kind_is_made():
    for kind in KINDS.values():
        for shape in SHAPES:
            for language in kind.languages:
                assert generate(kind, shape=shape, language=language).language == language
