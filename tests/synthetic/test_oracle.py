import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Verdict
from assay.judges import build_judge
from assay.synthetic.kinds import KINDS
from assay.synthetic.oracle import BEST, completions, scores
from assay.synthetic.stream import generate

VERIFIED = [kind.name for kind in KINDS.values() if kind.reference]


def read(judge, generated, order, **options):
    draw = Draw(vote=0, seed=1, order=tuple(order))
    texts = completions(generated, judge, draw, **options)
    assert len(texts) == len(judge.plan(generated.item, draw))
    return judge.read(generated.item, draw, [Completion(request_id="x", text=text) for text in texts])


def made(name, shape, seed, side="train", language=None):
    kind = KINDS[name]
    language = language if language in kind.languages else kind.languages[0]
    return generate(kind, shape=shape, side=side, seed=seed, language=language)


def best(generated):
    (index,) = [at for at, gold in enumerate(generated.gold) if gold == max(generated.gold)]
    return index


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    side=st.sampled_from(["train", "held"]),
    language=st.sampled_from(["en", "zh"]),
    shape=st.sampled_from(["pair", "several"]),
    data=st.data(),
)
def test_several_candidates_are_read_back_with_the_gold_one_first(name, seed, side, language, shape, data):
    generated = made(name, shape, seed, side, language)
    order = data.draw(st.permutations(range(generated.item.n)))
    pointwise = read(build_judge("pointwise", language=generated.language), generated, order)
    assert isinstance(pointwise, Verdict)
    assert pointwise.flags == ()
    assert pointwise.scores == tuple(map(float, scores(generated)))
    assert [at for at, score in enumerate(pointwise.scores) if score == max(pointwise.scores)] == [best(generated)]
    pairwise = read(build_judge("pairwise", language=generated.language), generated, order)
    assert isinstance(pairwise, Verdict)
    assert (pairwise.choice, pairwise.flags) == (best(generated), ())


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), side=st.sampled_from(["train", "held"]), language=st.sampled_from(["en", "zh"]))
def test_a_single_candidate_is_read_back_as_its_gold(name, seed, side, language):
    generated = made(name, "single", seed, side, language)
    verdict = read(build_judge("pointwise", mode="0-1", language=generated.language), generated, (0,))
    assert isinstance(verdict, Verdict)
    assert (verdict.scores, verdict.flags) == (generated.gold, ())
    scored = read(build_judge("pointwise", language=generated.language), generated, (0,))
    assert isinstance(scored, Verdict)
    assert (scored.scores == (float(BEST),)) == (generated.gold == (1.0,))
    if name in VERIFIED:
        for forms in (False, True):
            verdict = read(build_judge("verifier", language=generated.language, forms=forms), generated, (0,))
            assert isinstance(verdict, Verdict)
            assert (verdict.scores, verdict.flags) == (generated.gold, ())


def test_the_verdict_alone_is_the_box_behind_its_label():
    generated = made("units", "pair", 3)
    for name, language, label in (("pointwise", "en", "Scores:"), ("pairwise", "zh", "选择：")):
        judge, draw = build_judge(name, language=language), Draw(vote=0, seed=0, order=(1, 0))
        (text,), (full,) = (completions(generated, judge, draw, target=target) for target in ("verdict", "full"))
        assert text.startswith(f"{label} \\boxed{{")
        assert full.endswith(f"\n{text}")


def test_both_orders_name_the_same_candidate():
    for seed in range(30):
        generated = made("integer", "pair", seed)
        verdict = read(build_judge("pairwise", both_orders=True), generated, (1, 0))
        assert verdict.choice == best(generated)


@pytest.mark.parametrize("side", ["train", "held"])
def test_the_line_tells_the_verdict(side):
    """Normal forms are equal exactly where gold is 1: the end of each side, behind its computation."""
    for name in VERIFIED:
        for seed in range(60):
            for shape in ("single", "several"):
                generated = made(name, shape, seed, side, ["en", "zh"][seed % 2])
                reference, *answers = (one.rsplit(" = ")[-1] for one in generated.normal)
                for answer, gold in zip(answers, generated.gold, strict=True):
                    assert (reference == answer) == (gold == 1), generated.normal


def test_forms_stand_in_a_thought_before_the_box_in_the_order_shown():
    generated = made("units", "pair", 3)
    reference, *answers = generated.normal
    judge = build_judge("pointwise")
    for order in ((0, 1), (1, 0)):
        (text,) = completions(generated, judge, Draw(vote=0, seed=0, order=order), target="forms")
        assert text.startswith(
            f"<think>{reference} | {answers[order[0]]} | {answers[order[1]]}</think>\nScores: \\boxed"
        )
        assert read(judge, generated, order, target="forms").scores == tuple(map(float, scores(generated)))
    without = made(next(kind.name for kind in KINDS.values() if not kind.reference), "pair", 1)
    assert completions(without, judge, Draw(vote=0, seed=0, order=(0, 1)), target="forms")[0].startswith("Scores: ")


def test_a_critique_names_what_it_computed():
    generated = next(
        one for seed in range(400) if (one := made("units", "pair", seed)).criteria and "x 3600 =" in str(one.findings)
    )
    (text,) = completions(generated, build_judge("pointwise"), Draw(vote=0, seed=0, order=(0, 1)))
    assert "x 3600 = " in text
    assert text.startswith("Specific Criteria: ")
    assert "\nAnalysis: " in text
    assert "\nScores: \\boxed{" in text


def test_wording_differs_from_item_to_item_and_is_the_same_for_the_same_request():
    draw = Draw(vote=0, seed=0, order=(0, 1))
    judge = build_judge("pointwise")
    texts = [completions(made("integer", "pair", seed), judge, draw)[0] for seed in range(40)]
    heads = {text.split("Agreement")[0] for text in texts}
    assert len(heads) > 1
    assert texts == [completions(made("integer", "pair", seed), judge, draw)[0] for seed in range(40)]


def test_other_judges_and_wrong_sizes_are_refused_by_name():
    draw = Draw(vote=0, seed=0, order=(0, 1))
    with pytest.raises(InputError, match="'rubric'; there are verifier"):
        completions(made("integer", "pair", 0), build_judge("rubric"), draw)
    with pytest.raises(InputError, match="has 2 candidates"):
        completions(made("integer", "pair", 0), build_judge("verifier"), draw)
