import pytest
from pydantic import ValidationError

from assay.report.cost import Price, Rates, cost_of


def test_flops_are_twice_the_parameters_for_each_token(row):
    votes = [
        row(prompt_tokens=100, cached_tokens=60, completion_tokens=10, parameters=7),
        row(outcome="parse_error", prompt_tokens=100, completion_tokens=30, parameters=7),
    ]
    cost = cost_of(votes, verdicts=1)
    # Computed: 40 + 100 of the prompts; a failed vote costs as much as another.
    assert (cost.flops.prefill, cost.flops.saved, cost.flops.decode) == (2 * 7 * 140, 2 * 7 * 60, 2 * 7 * 40)
    assert cost.flops_each == 2 * 7 * 180
    assert (cost.tokens, cost.tokens_each, cost.money) == (240, 240, None)


def test_the_papers_comparison(row):
    """32 samples of 27B against one of 671B with 37B active: 32 x 27 / 37 = 23 times the decoding."""
    votes = [row(completion_tokens=250, parameters=27_000_000_000)] * 32
    one = cost_of([row(completion_tokens=250, parameters=37_000_000_000)], verdicts=1)
    assert cost_of(votes, verdicts=1).flops.decode / one.flops.decode == pytest.approx(23.35, abs=0.01)


def test_money_has_a_price_of_its_own_for_cached_tokens(row):
    votes = [row(prompt_tokens=3_000_000, cached_tokens=1_000_000, completion_tokens=500_000)]
    price = Price(prompt=0.5, cached=0.1, completion=1.5)
    cost = cost_of(votes, verdicts=2, rates=Rates(price=price))
    assert cost.money == pytest.approx(2 * 0.5 + 0.1 + 0.75)
    assert cost.money_each == pytest.approx(cost.money / 2)
    same = Price(prompt=0.5, completion=1.5)
    assert cost_of(votes, verdicts=2, rates=Rates(price=same)).money == pytest.approx(3 * 0.5 + 0.75)


def test_what_is_not_known_is_not_made_up(row):
    votes = [row(prompt_tokens=10, parameters=7), row(prompt_tokens=10)]
    assert cost_of(votes, verdicts=0).flops is None
    assert cost_of(votes, verdicts=0).tokens_each is None
    assert cost_of(votes, verdicts=2, rates=Rates(parameters=5)).flops.prefill == 2 * 5 * 20
    assert cost_of([row()], verdicts=1) is None
    with pytest.raises(ValidationError):
        Price(prompt=-1, completion=0)


def test_a_vote_from_the_cache_needs_no_parameters(row):
    assert cost_of([row(prompt_tokens=10, parameters=7), row(cached=True)], verdicts=2).flops.prefill == 140
