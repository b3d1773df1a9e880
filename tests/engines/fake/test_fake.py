import asyncio
import math
import statistics
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import (
    ChatPrompt,
    Completion,
    FailureKind,
    Message,
    Request,
    RulePrompt,
    SamplingParams,
    TokenPrompt,
)
from assay.engines.base import Offloadable, StreamingEngine, Updatable
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.draws import choice_logprobs, draw_latency
from assay.engines.fake.engine import FakeEngine

FAULTS = {"latency": 0.03, "error_502": 0.03, "overloaded": 0.03, "truncated": 0.03, "empty": 0.03, "garbage": 0.03,
          "hang": 0.02}  # fmt: skip


def ask(text: str = "question", n: int = 1, choices: tuple[str, ...] | None = None, **sampling: Any) -> Request:
    prompt = ChatPrompt(messages=(Message(role="user", content=text),))
    return Request(id="r", prompt=prompt, n=n, choices=choices, sampling=SamplingParams(**sampling))


def answer(engine: FakeEngine, request: Request, seconds: float = 5) -> tuple[Completion, ...]:
    return asyncio.run(engine.generate(request, Deadline.after(seconds)))


def texts(engine: FakeEngine, request: Request) -> list[str]:
    return [completion.text for completion in answer(engine, request)]


def test_replies_by_script() -> None:
    assert texts(FakeEngine(), ask(n=2)) == ["1", "1"]
    assert texts(FakeEngine(FakeConfig(replies="echo")), ask("say this")) == ["say this"]
    mapped = FakeEngine(FakeConfig(replies={"cat": "meow", "dog": "woof"}, default="?"))
    assert [texts(mapped, ask(q))[0] for q in ("a dog", "a cat and a dog", "a cow")] == ["woof", "meow", "?"]
    called = FakeEngine(reply=lambda request, index: f"{request.id}{index}")
    assert texts(called, ask(n=2)) == ["r0", "r1"]


def test_a_reply_out_of_a_list_follows_from_the_request() -> None:
    engine = FakeEngine(FakeConfig(replies=("a", "b", "c")))
    drawn = [tuple(texts(engine, ask(f"q{n}", n=3, seed=n))) for n in range(50)]
    assert drawn == [tuple(texts(engine, ask(f"q{n}", n=3, seed=n))) for n in range(50)]
    assert len(set(drawn)) > 10
    assert texts(engine, ask("q", n=3, seed=1)) != texts(engine, ask("q", n=3, seed=2))


def outcomes(config: FakeConfig, order: list[int]) -> dict[int, str]:
    async def one(engine: FakeEngine, number: int) -> tuple[int, str]:
        try:
            (completion,) = await engine.generate(ask(f"question {number}", seed=number), Deadline.after(0.3))
        except GenerationError as error:
            return number, error.kind
        return number, f"{completion.finish_reason}:{completion.text}"

    async def main() -> dict[int, str]:
        engine = FakeEngine(config)
        return dict(await asyncio.gather(*(one(engine, number) for number in order)))

    return asyncio.run(main())


def test_the_same_requests_get_the_same_faults_at_any_concurrency_and_order() -> None:
    config = FakeConfig(faults=FAULTS, replies=("a long enough reply", "another long reply"), slow_s=0.01)
    numbers = list(range(2000))
    first, second = outcomes(config, numbers), outcomes(config, numbers[::-1])
    assert first == second
    kinds = Counter(first.values())
    assert kinds[FailureKind.ENGINE_ERROR] == pytest.approx(60, abs=30)
    assert kinds[FailureKind.TIMEOUT] == pytest.approx(40, abs=25)
    assert kinds["stop:"] > 20  # empty
    assert kinds["length:a long"] + kinds["length:another"] > 20  # truncated
    alone = {n: outcomes(config, [n])[n] for n in range(0, 2000, 400)}
    assert alone.items() <= first.items()
    assert outcomes(config.model_copy(update={"seed": 1}), numbers[:200]) != {n: first[n] for n in range(200)}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error_502", FailureKind.ENGINE_ERROR),
        ("overloaded", FailureKind.OVERLOADED),
        ("hang", FailureKind.TIMEOUT),
    ],
)
def test_faults_that_are_failures(fault: str, kind: FailureKind) -> None:
    engine = FakeEngine(FakeConfig.model_validate({"faults": {fault: 1.0}, "retry_after_s": 3}))
    with pytest.raises(GenerationError) as caught:
        answer(engine, ask(), seconds=0.05)
    assert caught.value.kind is kind
    assert caught.value.retry_after == (3 if fault == "overloaded" else None)


def test_garbage_holds_nothing_that_a_parser_could_take() -> None:
    engine = FakeEngine(FakeConfig(faults={"garbage": 1}))
    for number in range(50):
        (text,) = texts(engine, ask(str(number)))
        assert text
        assert not any(sign.isalnum() or sign in "{}[]()\\" for sign in text)


def test_latency_is_waited_for_and_a_deadline_before_it_is_a_timeout() -> None:
    engine = FakeEngine(FakeConfig(latency_s=0.05))
    begin = time.perf_counter()
    answer(engine, ask())
    assert time.perf_counter() - begin >= 0.05
    with pytest.raises(GenerationError, match="deadline"):
        answer(engine, ask(), seconds=0.01)


def test_latencies_of_a_long_tail_have_the_mean_and_the_spread_that_were_said_and_follow_from_the_request() -> None:
    config = FakeConfig(latency_s=2.0, latency_spread=0.5)
    drawn = [draw_latency(config, str(key)) for key in range(20_000)]
    assert statistics.fmean(drawn) == pytest.approx(2.0, rel=0.02)
    assert statistics.pstdev(drawn) == pytest.approx(1.0, rel=0.05)
    assert drawn[7] == draw_latency(config, "7")
    assert draw_latency(FakeConfig(latency_s=2.0), "7") == 2.0


def test_a_full_engine_makes_requests_wait_their_turn() -> None:
    engine = FakeEngine(FakeConfig(latency_s=0.03, max_running=2))

    async def ask_all() -> float:
        begin = time.perf_counter()
        await asyncio.gather(*(engine.generate(ask(str(n)), Deadline.after(5)) for n in range(6)))
        return time.perf_counter() - begin

    assert asyncio.run(ask_all()) >= 0.09


def test_without_faults_nothing_is_awaited() -> None:
    coroutine = FakeEngine().generate(ask(), Deadline.never())
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    assert done.value.value[0].text == "1"


def test_stop_texts_and_length_end_a_reply() -> None:
    engine = FakeEngine(FakeConfig(default="one two  three. four"))
    cut = answer(engine, ask(max_new_tokens=2))[0]
    assert (cut.text, cut.finish_reason, cut.completion_tokens) == ("one two", "length", 2)
    stopped = answer(engine, ask(stop=("three",)))[0]
    assert (stopped.text, stopped.finish_reason) == ("one two  ", "stop")


def test_tokens_are_words_with_log_probs() -> None:
    completion = answer(FakeEngine(FakeConfig(default="a b a")), ask("three words here", logprobs=3))[0]
    assert (completion.prompt_tokens, completion.completion_tokens) == (3, 3)
    assert completion.token_ids[0] == completion.token_ids[2] != completion.token_ids[1]
    assert completion.top_logprobs is not None
    for place, logprob in zip(completion.top_logprobs, completion.logprobs or (), strict=True):
        assert len(place) == 3
        assert place[0].logprob == logprob
        assert sum(math.exp(token.logprob) for token in place) <= 1
    assert answer(FakeEngine(), ask(logprobs=0))[0].top_logprobs is None
    assert answer(FakeEngine(), ask())[0].logprobs is None


def test_choices() -> None:
    configured = answer(FakeEngine(FakeConfig(choices={"1": 0.7})), ask(choices=("0", "1")))[0]
    assert [math.exp(value) for value in configured.choice_logprobs or ()] == pytest.approx([0.3, 0.7])
    assert (configured.text, configured.mass) == ("1", pytest.approx(1))
    scripted = answer(FakeEngine(FakeConfig(default="0")), ask(choices=("0", "1")))[0]
    assert [math.exp(value) for value in scripted.choice_logprobs or ()] == pytest.approx([0.9, 0.1])
    other = answer(FakeEngine(FakeConfig(default="maybe")), ask(choices=("0", "1")))[0]
    assert other.mass == pytest.approx(1e-6)
    broken = answer(FakeEngine(FakeConfig(choices={"1": 0.7}, faults={"garbage": 1})), ask(choices=("0", "1")))[0]
    assert broken.mass == pytest.approx(1e-6)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 0.25), max_size=4),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True),
    st.sampled_from("abcdx"),
)
def test_choice_log_probs_are_a_part_of_a_distribution(named: dict[str, float], choices: list[str], reply: str) -> None:
    logprobs = choice_logprobs(FakeConfig(choices=named), tuple(choices), reply)
    assert 0 < math.fsum(map(math.exp, logprobs)) <= 1 + 1e-5


def test_all_prompts_are_answered() -> None:
    echo = FakeEngine(FakeConfig(replies="echo"))
    assert texts(echo, Request(id="r", prompt=TokenPrompt(token_ids=(1, 2)))) == ["1 2"]
    rule = RulePrompt(rule="math", arguments={"reference": "1", "answer": "2"})
    assert texts(echo, Request(id="r", prompt=rule)) == ['math {"answer":"2","reference":"1"}']


def test_a_prompt_over_the_context_is_refused() -> None:
    with pytest.raises(GenerationError, match="3 words") as caught:
        answer(FakeEngine(FakeConfig(context_len=2)), ask("one two three"))
    assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW


def test_grammars_are_refused_unless_the_script_is_said_to_follow_them() -> None:
    for grammar in ({"regex": "1|0"}, {"json_schema": {"type": "integer"}}):
        with pytest.raises(GenerationError, match="the fake engine cannot constrain") as caught:
            answer(FakeEngine(), ask(**grammar))
        assert caught.value.kind is FailureKind.BAD_REQUEST
        follows = FakeEngine(FakeConfig(grammars=True))
        assert grammar.keys() <= follows.info.capabilities
        assert texts(follows, ask(**grammar)) == ["1"]


def test_streaming_gives_the_same_text() -> None:
    engine = FakeEngine(FakeConfig(default=" two  words \n"))

    async def main() -> None:
        (whole,) = await engine.generate(ask(), Deadline.never())
        deltas = [delta async for delta in engine.stream(ask(), Deadline.never())]
        assert "".join(delta.text for delta in deltas) == whole.text
        assert tuple(token for delta in deltas for token in delta.token_ids) == whole.token_ids
        assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["stop"]

    asyncio.run(main())


def test_sleep_wake_update_and_close() -> None:
    async def main() -> None:
        engine = FakeEngine(FakeConfig(faults={"hang": 1}))
        assert isinstance(engine, StreamingEngine)
        assert isinstance(engine, Offloadable)
        assert isinstance(engine, Updatable)
        both = frozenset({"weights", "kv_cache"})
        assert await engine.sleep(both) == 3 << 29  # pyright: ignore[reportArgumentType]
        assert await engine.sleep(frozenset({"weights"})) == 0
        health = await engine.health()
        assert (health.healthy, health.state) == (True, "asleep")
        with pytest.raises(GenerationError) as caught:
            await engine.generate(ask(), Deadline.never())
        assert caught.value.kind is FailureKind.ASLEEP
        assert await engine.wake(both) == 3 << 29  # pyright: ignore[reportArgumentType]
        await engine.update_weights("/new", "7")
        assert engine.info.weight_version == "7"
        hung = asyncio.create_task(engine.generate(ask(), Deadline.never()))
        await asyncio.sleep(0)
        await engine.close()
        with pytest.raises(GenerationError, match="closed"):
            await hung
        assert not (await engine.health()).healthy

    asyncio.run(main())


@pytest.mark.parametrize(
    "options",
    [
        {"faults": {"hang": 0.6, "empty": 0.6}},
        {"faults": {"fire": 0.1}},
        {"faults": {"hang": -0.1}},
        {"choices": {"1": 0.9, "0": 0.9}},
        {"replies": "parrot"},
    ],
)
def test_settings_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FakeConfig.model_validate(options)
