from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import ChatPrompt, TokenPrompt
from assay.engines.canary import CanaryConfig, Said, canary_requests, compare, run_canary
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine

CONFIG = CanaryConfig(max_nats=0.2, mean_nats=0.05)


def said(*places: tuple[int, float]) -> Said:
    return Said(text="", token_ids=tuple(t for t, _ in places), logprobs=tuple(p for _, p in places))


def test_the_same_again_is_no_drift() -> None:
    print_ = (said((1, -0.1), (2, -0.5)), said((3, -2.0)))
    drift = compare(print_, print_, CONFIG)
    assert drift.passed
    assert (drift.max_nats, drift.mean_nats, drift.tokens) == (0.0, 0.0, 3)


def test_drift_is_measured_over_all_tokens() -> None:
    drift = compare((said((1, -0.1), (2, -0.5)),), (said((1, -0.13), (2, -0.49)),), CONFIG)
    assert drift.passed
    assert (drift.max_nats, drift.mean_nats) == (pytest.approx(0.03), pytest.approx(0.02))


def test_one_token_far_off_is_a_drift() -> None:
    drift = compare((said((1, -0.1), (2, -0.5)),), (said((1, -0.1), (2, -0.75)),), CONFIG)
    assert drift.reason is not None
    assert "0.25 nats" in drift.reason


def test_many_tokens_a_little_off_are_a_drift() -> None:
    drift = compare((said((1, -0.1), (2, -0.5)),), (said((1, -0.2), (2, -0.6)),), CONFIG)
    assert drift.reason is not None
    assert "on average" in drift.reason


def test_zeros_for_weights_are_a_drift() -> None:
    zeros = -math.log(49_152)
    drift = compare((said((5, -0.4)),), (said((0, zeros)),), CONFIG)
    assert drift.reason is not None
    assert drift.max_nats == pytest.approx(10.4, abs=0.01)


def test_another_token_is_a_drift_unless_the_two_were_about_equally_likely() -> None:
    assert compare((said((1, -0.3)),), (said((2, -0.3)),), CONFIG).reason == "reply 0: token 0 is 2 instead of 1"
    tie = compare((said((1, -0.75), (8, -0.1)),), (said((2, -0.74), (9, -5.0)),), CONFIG)
    assert tie.passed
    assert tie.tokens == 1


def test_an_end_is_a_token_like_others() -> None:
    whole, cut = said((1, -0.1), (2, -0.2)), said((1, -0.1))
    assert compare((whole,), (cut,), CONFIG).reason == "reply 0: 1 tokens instead of 2"
    assert compare((said((1, -0.1), (2, -0.8)),), (cut,), CONFIG).passed


def test_what_is_not_a_number_is_a_drift() -> None:
    drift = compare((said((1, -0.1)),), (said((1, math.nan)),), CONFIG)
    assert drift.reason == "reply 0: the log-prob of token 0 is nan"


def test_an_empty_reply_is_a_drift() -> None:
    assert not compare((said((1, -0.1)),), (said(),), CONFIG).passed


def test_without_logprobs_the_texts_are_compared() -> None:
    assert compare((Said(text="yes"),), (Said(text="yes"),), CONFIG).passed
    drift = compare((Said(text="yes"),), (Said(text="!!!!"),), CONFIG)
    assert drift.reason == "reply 0: '!!!!' instead of 'yes'"


def test_fewer_replies_are_a_drift() -> None:
    assert not compare((Said(text="a"),), (), CONFIG).passed


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.floats(-20, 0)), max_size=5), max_size=3))
def test_a_print_never_drifts_from_itself(replies: list[list[tuple[int, float]]]) -> None:
    print_ = tuple(said(*places) for places in replies)
    assert compare(print_, print_, CONFIG).passed


def test_requests_are_greedy_and_fit_what_the_engine_takes() -> None:
    chats = canary_requests(frozenset({"chat", "logprobs"}), CONFIG)
    assert all(isinstance(r.prompt, ChatPrompt) and r.sampling.temperature == 0 for r in chats)
    assert all(r.sampling.logprobs == 0 for r in chats)
    tokens = canary_requests(frozenset({"tokens"}), CONFIG)
    assert tokens
    assert all(isinstance(r.prompt, TokenPrompt) and r.sampling.logprobs is None for r in tokens)
    assert canary_requests(frozenset({"rules"}), CONFIG) == ()


def test_an_engine_is_told_apart_from_another() -> None:
    async def prints() -> list[tuple[Said, ...]]:
        engines = [FakeEngine(FakeConfig(default=text)) for text in ("The sky is blue", "The sky is blue", "0 0 0 0")]
        return [await run_canary(engine, CONFIG) for engine in engines]

    first, again, other = asyncio.run(prints())
    assert compare(first, again, CONFIG).passed
    assert not compare(first, other, CONFIG).passed
