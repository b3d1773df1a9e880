"""Tokens, admission, hedging and pauses: small pure parts of the pool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import GenerationError
from assay.core.types import (
    ChatPrompt,
    Completion,
    FailureKind,
    Message,
    Prompt,
    Request,
    RulePrompt,
    SamplingParams,
    TokenPrompt,
)
from assay.engines.pool.admission import TokenBudget
from assay.engines.pool.backoff import Backoff
from assay.engines.pool.hedging import Hedging
from assay.engines.pool.tokens import CHUNK_TOKENS, MAX_CHUNKS, ReplyLength, prefix_keys, prompt_tokens, work


def chat(*texts: str) -> ChatPrompt:
    return ChatPrompt(messages=tuple(Message(role="user", content=text) for text in texts))


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        (chat("x" * 400), 101),
        (chat("x" * 200, "y" * 200), 101),
        (chat("好" * 100), 76),
        (TokenPrompt(token_ids=tuple(range(50))), 50),
        (RulePrompt(rule="math", arguments={}), 1),
    ],
)
def test_a_prompt_is_estimated_by_its_bytes(prompt: Prompt, tokens: int) -> None:
    assert prompt_tokens(prompt) == tokens


def test_equal_prefixes_have_equal_keys_up_to_where_they_part() -> None:
    shared = "s" * (4 * CHUNK_TOKENS * 3)
    first, second = prefix_keys(chat(shared + "a" * 2000)), prefix_keys(chat(shared + "b" * 2000))
    equal = [a == b for a, b in zip(first, second, strict=True)]
    assert equal == sorted(equal, reverse=True)
    assert 2 <= sum(equal) <= 3  # the role stands before the text


def test_keys_are_whole_chunks_and_bounded() -> None:
    ids = TokenPrompt(token_ids=tuple(range(CHUNK_TOKENS * 2 + 1)))
    assert len(prefix_keys(ids)) == 2
    assert prefix_keys(TokenPrompt(token_ids=(1, 2))) == ()
    assert len(prefix_keys(chat("x" * 10_000_000))) == MAX_CHUNKS
    assert prefix_keys(RulePrompt(rule="math", arguments={})) == ()


def test_work_counts_prompts_little_and_caches_not_at_all() -> None:
    assert work(1000, 0, 200) == pytest.approx(300)
    assert work(1000, 900, 200) == pytest.approx(210)
    assert work(100, 128, 0) == 0


def test_replies_are_as_long_as_they_were_lately() -> None:
    replies = ReplyLength(start=100)
    ask = Request(id="r", prompt=chat("a"), n=3)
    assert replies.expect(ask) == 300
    for _ in range(200):
        replies.learn([Completion(request_id="r", text="", completion_tokens=10)])
    assert replies.expect(ask) == 30
    assert replies.expect(Request(id="r", prompt=chat("a"), sampling=SamplingParams(max_new_tokens=4))) == 4
    assert replies.expect(Request(id="r", prompt=chat("a"), choices=("1", "0"))) == 2


def test_beyond_the_budget_is_overloaded_and_says_when_to_return() -> None:
    budget = TokenBudget(per_replica=100)
    budget.admit(150, 2, now=0.0)
    budget.admit(50, 2, now=0.0)
    with pytest.raises(GenerationError, match="200 tokens are owed") as caught:
        budget.admit(30, 2, now=0.0)
    assert caught.value.kind is FailureKind.OVERLOADED
    assert caught.value.retry_after == 1.0  # nothing is known of the rate yet
    budget.leave(50, now=1.0)
    budget.leave(100, now=4.0)
    budget.admit(100, 2, now=4.0)
    with pytest.raises(GenerationError) as caught:
        budget.admit(100, 2, now=4.0)
    # 150 tokens in 3 s; 50 have to go first
    assert caught.value.retry_after == pytest.approx(1.0)


def test_one_request_larger_than_the_budget_is_taken_alone() -> None:
    budget = TokenBudget(per_replica=100)
    budget.admit(1000, 1, now=0.0)
    with pytest.raises(GenerationError):
        budget.admit(1, 1, now=0.0)


@given(st.lists(st.integers(1, 60), max_size=60))
def test_what_is_owed_is_what_was_admitted_and_not_left(sizes: list[int]) -> None:
    budget, inside = TokenBudget(per_replica=100), list[int]()
    for now, size in enumerate(sizes):
        if sum(inside) + size <= 100:
            budget.admit(size, 1, float(now))
            inside.append(size)
        else:
            with pytest.raises(GenerationError) as caught:
                budget.admit(size, 1, float(now))
            assert 0.1 <= (caught.value.retry_after or 0) <= 60
            budget.leave(inside.pop(0), float(now))
        assert budget.owed == sum(inside) <= 100


def test_hedging_waits_for_the_quantile_and_spends_its_share() -> None:
    hedging = Hedging(0.9, share=0.05)
    assert hedging.patience is None
    for n in range(100):
        hedging.note(n / 100)
    assert hedging.patience == pytest.approx(0.9, abs=0.05)
    assert [hedging.take() for _ in range(7)] == [True] * 5 + [False] * 2
    assert hedging.sent == 5


def test_hedging_is_off_without_a_quantile() -> None:
    hedging = Hedging(None, share=1.0)
    for _ in range(100):
        hedging.note(1.0)
    assert hedging.patience is None


def test_pauses_double_until_something_was_served() -> None:
    backoff = Backoff(first=1.0, most=5.0)
    assert [backoff.pause() for _ in range(6)] == [0.0, 1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.served()
    assert backoff.pause() == 0.0
