import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.agreement import accepting, of_grouped, of_ranked, of_single, ranking, top_is_right


@pytest.mark.parametrize(
    ("scores", "gold", "right"),
    [
        ([7, 5, 6], [1, 0, 0], True),
        ([5, 7, 6], [1, 0, 0], False),
        ([7, 7, 6], [1, 0, 0], False),
        ([7, 7, 6], [1, 1, 0], True),
        ([7, 5, 6], [1, 1, 0], True),
        ([6, 5, 6], [1, 1, 0], False),
        ([1, 2], [3.5, 4.0], True),
        ([1, 2], [1, 1], None),
        ([1], [1], None),
    ],
)
def test_the_best_must_stand_on_top_alone(scores, gold, right):
    assert top_is_right(scores, gold) is right


def test_ranking_counts_ties_chance_and_silence():
    found = ranking(
        [
            ([9, 1], [1, 0]),
            ([5, 5], [1, 0]),
            ([1, 9], [1, 0]),
            ([1, 2, 3, 4], [0, 0, 0, 1]),
            ([8, 8, 2], [0, 0, 1]),
            ([1, 2], [0.5, 0.5]),
        ],
        incomplete=2,
    )
    assert (found.right.hits, found.right.n) == (2, 5)
    # The tie of two wrong ones is simply wrong.
    assert found.tied.hits == 1
    assert found.chance == pytest.approx((1 / 2 + 1 / 2 + 1 / 2 + 1 / 4 + 1 / 3) / 5)
    assert (found.silent, found.incomplete) == (1, 2)
    assert ranking([([1, 2], [1, 1])]) is None


def test_accepting():
    # Right answers: 0.9, 0.5 accepted, 0.2 not. Wrong ones: 0.1 refused, 0.7 not.
    found = accepting([(0.9, 1), (0.5, 1), (0.2, 1), (0.1, 0), (0.7, 0), (0.4, 0.5)])
    assert (found.n, found.positives, found.hits) == (5, 3, 3)
    assert found.accuracy.value == pytest.approx(3 / 5)
    assert (found.accepted.hits, found.accepted.n) == (2, 3)
    assert (found.refused.hits, found.refused.n) == (1, 2)
    assert found.balanced.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    # Of the six pairs 0.9 wins two, 0.5 and 0.2 one each.
    assert found.auc.value == pytest.approx(4 / 6)


def test_another_scale_has_an_auc_and_no_accuracy():
    found = accepting([(8, 1), (3, 0), (6, 0)])
    assert found.auc.value == 1.0
    assert (found.accuracy, found.accepted, found.refused, found.balanced, found.hits) == (None,) * 5


def test_gold_of_one_kind_only_has_an_accuracy_and_no_balance():
    found = accepting([(1.0, 1), (0.0, 1)])
    assert found.accuracy.value == 0.5
    assert (found.balanced, found.auc) == (None, None)
    assert accepting([(1.0, 0.5)]) is None


def test_failures_and_rows_without_gold_are_nowhere(row):
    rows = [
        row("a", 1.0, 1),
        row("b", 0.0, 1, outcome="parse_error"),
        row("c", gold=0, outcome="timeout"),
        row("d", 1.0),
        row("e", [1.0, 0.0], [1, 0]),
    ]
    assert of_single(rows).n == 1
    assert of_ranked(rows).right.n == 1


def test_candidates_are_put_together_again_and_incomplete_items_are_counted(row):
    def judged(item, *pairs):
        return [
            row(item, score, gold, candidate=i, outcome="timeout" if score is None else "verdict")
            for i, (score, gold) in enumerate(pairs)
        ]

    rows = [
        *judged("right", (1, 1), (0, 0), (0, 0)),
        *judged("both right", (1, 1), (0, 0), (1, 1)),
        *judged("tied", (1, 1), (1, 0)),
        *judged("failed", (1, 1), (None, 0)),
        *judged("silent", (1, 0), (0, 0)),
    ]
    found = of_grouped(rows)
    assert (found.right.hits, found.right.n, found.tied.hits) == (2, 3, 1)
    assert (found.incomplete, found.silent) == (1, 1)
    assert found.chance == pytest.approx((1 / 3 + 2 / 3 + 1 / 2) / 3)


def test_the_gold_of_the_whole_item_serves_its_candidates(row):
    rows = [row("a", 1, [0, 1], candidate=1), row("a", 0, [0, 1], candidate=0)]
    assert of_single(rows).hits == 2


def test_a_choice_counts_as_a_ranking(row):
    assert of_ranked([row("a", gold=[0, 1], choice=1, n=2)]).right.hits == 1


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1))
def test_the_counts_add_up(pairs):
    found = accepting(pairs)
    assert found.accepted.n + found.refused.n == found.n == len(pairs)
    assert found.accepted.hits + found.refused.hits == found.hits
    assert found.accuracy.low <= found.accuracy.value <= found.accuracy.high
