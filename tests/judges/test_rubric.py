import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Candidate, Completion, Draw, Failure, FailureKind, Item, Message, Verdict
from assay.judges import JUDGES, join, load_judge, parts
from assay.judges.rubric import RubricJudge
from assay.judges.rubric_spec import Criterion

TONE = Criterion(name="Tone", text="Calm.", weight=2)
FACTS = Criterion(name="Facts", text="True.", weight=1)
SHORT = Criterion(name="Short", text="Brief.", weight=1)
JUDGE = RubricJudge(criteria=(TONE, FACTS, SHORT))
FILE = """
name = "support"
batch = 2
[[criterion]]
name = "Tone"
text = "Calm."
weight = 2
[[criterion]]
name = "Solved"
text = "The problem is gone."
scale = [0, 1]
[[criterion]]
name = "Short"
text = "Brief."
"""


@pytest.fixture
def load(tmp_path):
    def make(text, **options):
        path = tmp_path / "rubric.toml"
        path.write_text(text, encoding="utf-8")
        return load_judge(path, **options)

    return make


def says(*texts, finish="stop"):
    return tuple(Completion(request_id=f"7-{i}", text=text, finish_reason=finish) for i, text in enumerate(texts))


def read(judge, *texts, **more):
    item = Item(id="i1", messages=(Message(role="user", content="q"),), candidates=(Candidate(text="a"),))
    return judge.read(item, Draw(vote=0, seed=7, order=(0,)), says(*texts, **more))


def test_the_score_is_the_weighted_mean_and_the_breakdown_is_kept():
    outcome = read(JUDGE, r"Scores: \boxed{8, 4, 6}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores == ((2 * 8 + 4 + 6) / 4,)
    assert outcome.breakdown == ({"Tone": 8.0, "Facts": 4.0, "Short": 6.0},)
    assert outcome.flags == ()


def test_different_scales_are_put_on_zero_to_one_and_kept_in_the_breakdown(load, make_draw):
    judge = load(FILE)
    assert (judge.name, judge.scale) == ("support", (0.0, 1.0))
    assert JUDGE.scale == (1.0, 10.0)
    outcome = read(judge, r"\boxed{10, 0}", r"\boxed{5.5}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores == pytest.approx(((2 * 1 + 0 + 0.5) / 4,))
    assert outcome.breakdown == ({"Tone": 10.0, "Solved": 0.0, "Short": 5.5},)


def test_criteria_are_asked_in_batches(load, make_item, make_draw):
    requests = load(FILE).plan(make_item("the answer"), make_draw())
    texts = [request.prompt.messages[0].text for request in requests]
    assert [request.id for request in requests] == ["7-0", "7-1"]
    assert "1. Tone (from 1 to 10): Calm.\n2. Solved (from 0 to 1): The problem is gone.\n" in texts[0]
    assert "as there are criteria: 2." in texts[0]
    assert "1. Short (from 1 to 10): Brief.\n" in texts[1]
    assert "Tone" not in texts[1]
    assert all("the answer" in text for text in texts)
    (one,) = JUDGE.plan(make_item("a"), make_draw())
    assert "3. Short" in one.prompt.messages[0].text


@pytest.mark.parametrize("part", ["n/a", "11", "0", "-1", "x", "", "nan", "**7**"])
def test_a_criterion_without_a_score_fails_the_verdict_and_is_named(part):
    outcome = read(JUDGE, rf"\boxed{{8, {part}, 6}}")
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PARSE_ERROR
    assert outcome.detail.startswith("no score for 'Facts': ")


def test_partial_takes_the_mean_of_the_others():
    outcome = read(replace(JUDGE, partial=True), r"\boxed{8, n/a, 5}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (7.0,)  # (2 * 8 + 5) / 3
    assert outcome.breakdown == ({"Tone": 8.0, "Facts": None, "Short": 5.0},)
    assert outcome.flags == ("partial",)


def test_partial_needs_at_least_one():
    outcome = read(replace(JUDGE, partial=True), r"\boxed{x, x, x}")
    assert isinstance(outcome, Failure)
    assert "'Tone', 'Facts', 'Short'" in outcome.detail


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        (r"\boxed{8, 4}", "stop", FailureKind.PARSE_ERROR),
        (r"\boxed{8, 4, 6, 1}", "stop", FailureKind.PARSE_ERROR),
        (r"\boxed{8, 4", "stop", FailureKind.TRUNCATED),
        ("Analysis: it", "length", FailureKind.TRUNCATED),
        ("<think>hm", "stop", FailureKind.TRUNCATED),
        ("I'm sorry, I cannot judge this.", "stop", FailureKind.REFUSED),
        ("", "stop", FailureKind.PARSE_ERROR),
        (r"\boxed{8, 4, 6}", "abort", FailureKind.CANCELLED),
    ],
)
def test_a_batch_that_cannot_be_read_fails_all_its_criteria(text, finish, kind):
    outcome = read(JUDGE, text, finish=finish)
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind
    assert "no score for 'Tone', 'Facts', 'Short'" in outcome.detail


def test_a_batch_that_cannot_be_read_leaves_the_other_in_a_partial_verdict():
    judge = replace(JUDGE, batch=2, partial=True)
    outcome = read(judge, "no box", r"\boxed{3}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (3.0,)
    assert outcome.text == "no box\n\n\\boxed{3}"
    outcome = read(replace(judge, partial=False), "no box", r"\boxed{3}")
    assert isinstance(outcome, Failure)
    assert "no score for 'Tone', 'Facts': no " in outcome.detail


def test_every_batch_needs_a_completion():
    for texts in ((), (r"\boxed{8, 4}",), (r"\boxed{8, 4}", r"\boxed{1}", r"\boxed{1}")):
        outcome = read(replace(JUDGE, batch=2, partial=True), *texts)
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.ENGINE_ERROR


def test_lenient_reading_is_flagged_and_only_where_it_is_needed():
    lenient = replace(JUDGE, lenient=True)
    outcome = read(lenient, r"\boxed{**8**; 4; 6}")
    assert isinstance(outcome, Verdict)
    assert (outcome.scores, outcome.flags) == ((6.5,), ("lenient",))
    outcome = read(lenient, r"\boxed{8, 4, 6}")
    assert isinstance(outcome, Verdict)
    assert outcome.flags == ()


def test_candidates_are_judged_one_at_a_time_and_their_breakdowns_joined(make_item, make_draw):
    pieces = parts(JUDGE, make_item("", "b"))
    assert [piece.n for piece in pieces] == [1, 1]
    outcome = join([read(JUDGE, r"\boxed{8, 4, 6}"), read(JUDGE, r"\boxed{1, 1, 1}")])
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (6.5, 1.0)
    assert [own["Tone"] for own in outcome.breakdown] == [8.0, 1.0]
    with pytest.raises(InputError, match=r"40 candidates.*takes 1 at a time"):
        JUDGE.content(make_item(*["x"] * 40))
    (request,) = JUDGE.plan(pieces[0], make_draw())  # an empty candidate is an empty block
    assert re.search(r"\[\[response \w+\]\]\n\n\[\[/response", request.prompt.messages[0].text)


def test_the_built_in_rubric_judges_by_the_four_general_criteria(make_item, make_draw):
    judge = JUDGES["rubric"].make()
    assert [criterion.name for criterion in judge.criteria] == [
        "Instruction adherence",
        "Usefulness",
        "Level of detail",
        "Relevance",
    ]
    outcome = read(judge, r"\boxed{8, 6, 7, 9}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (7.5,)
    (request,) = RubricJudge(language="zh").plan(make_item("a"), make_draw())
    text = re.sub(r"\[\[.*?\]\]|What is 6 times 7\?|boxed", "", request.prompt.messages[0].text)
    assert not re.search(r"[A-Za-z]{4,}", text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"Solved"', '"Tone"'), "criterion: two are called 'Tone'"),
        (('"Solved"', '"tone"'), "criterion: two are called 'tone'"),
        (("weight = 2", "weight = 0"), r"criterion.0.weight: .*greater than 0 .got 0"),
        (("weight = 2", "weight = -1"), r"criterion.0.weight: .*got -1"),
        (("weight = 2", "weight = nan"), r"criterion.0.weight: "),
        (("weight = 2", "weight = inf"), r"criterion.0.weight: .*finite"),
        (("[0, 1]", "[1, 0]"), r"criterion 'Solved': scale needs \[low, high\].*got \(1.0, 0.0\)"),
        (("[0, 1]", "[0, inf]"), "criterion.1.scale"),
        (("text = ", "txt = "), "criterion.0.text: Field required.*criterion.0.txt: there is no such option"),
        (('"Calm."', '" "'), "criterion.0.text"),
        (("batch = 2", "batch = 0"), "batch: .*got 0"),
        (("batch = 2", "labels = {}"), "labels: there is no such option"),
        (("batch = 2", 'kind = "rubrik"'), "kind: must be 'prompt' or 'rubric', got 'rubrik'"),
        (('name = "support"', ""), "name: Field required"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_file_key_and_value(load, change, words):
    with pytest.raises(InputError, match=f"(?s)rubric.toml: .*{words}"):
        load(FILE.replace(*change, 1))


def test_a_rubric_without_criteria_is_refused(load):
    with pytest.raises(InputError, match="criterion: Field required"):
        load('kind = "rubric"\nname = "x"')
    with pytest.raises(InputError, match=r"criterion: .*at least 1"):
        load('name = "x"\ncriterion = []')


def test_the_kind_may_be_said_and_leniency_turned_on_from_outside(load):
    assert load('kind = "rubric"\n' + FILE) == load(FILE)
    assert load(FILE, lenient=True).lenient
    with pytest.raises(InputError, match="no option 'batch'"):
        load(FILE, batch=1)


def test_names_are_checked_in_python_too():
    with pytest.raises(InputError, match="two are called 'Tone'"):
        RubricJudge(criteria=(TONE, TONE))


def test_identity_changes_with_everything_that_shapes_a_verdict():
    judges = [
        JUDGE,
        replace(JUDGE, criteria=(TONE, FACTS)),
        replace(JUDGE, batch=1),
        replace(JUDGE, reference=False),
        replace(JUDGE, name="other"),
        replace(JUDGE, criteria=(TONE.model_copy(update={"weight": 3.0}), FACTS, SHORT)),
        replace(JUDGE, partial=True),
        replace(JUDGE, lenient=True),
    ]
    assert len({judge.identity for judge in judges}) == len(judges)
    assert {judge.asks for judge in judges[5:]} == {JUDGE.asks}  # weights and reading change no text


PIECES = st.sampled_from([r"\boxed{", "}", "7", "11", "0", ",", ";", "n/a", "<think>", "</think>", "**", " ", "Tone: "])
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=14).map("".join)


@given(st.lists(TEXTS, min_size=2, max_size=2), st.booleans(), st.booleans())
def test_any_text_gives_a_score_on_the_scale_or_a_failure(texts, partial, lenient):
    outcome = read(replace(JUDGE, batch=2, partial=partial, lenient=lenient), *texts)
    if isinstance(outcome, Failure):
        assert outcome.detail
        return
    assert outcome.scores is not None
    assert 1 <= outcome.scores[0] <= 10
    values = list(outcome.breakdown[0].values())
    assert len(values) == 3
    assert partial or None not in values
    assert ("partial" in outcome.flags) == (None in values)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.integers(1, 10)), min_size=1, max_size=6))
def test_the_mean_stays_between_the_scores(rows):
    judge = RubricJudge(
        criteria=tuple(Criterion(name=f"c{i}", text="t", weight=weight) for i, (weight, _) in enumerate(rows))
    )
    scores = [score for _, score in rows]
    outcome = read(judge, rf"\boxed{{{', '.join(map(str, scores))}}}")
    assert isinstance(outcome, Verdict)
    assert outcome.scores is not None
    assert min(scores) - 1e-9 <= outcome.scores[0] <= max(scores) + 1e-9
