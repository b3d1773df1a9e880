"""The engine as a caller sees it: joining and leaving, deadlines, cancellation, sleep, new weights, failure."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import FailureKind, Message, Request, RulePrompt, TokenPrompt
from assay.engines.base import Delta, Offloadable, StreamingEngine, Updatable
from assay.engines.embedded.batch import Batch
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine

from .conftest import ask, chat, request, running

KV = frozenset({"kv_cache"})
WEIGHTS = frozenset({"weights"})
FOREVER = 500


@pytest.fixture
def small(tiny: Path) -> Iterator[EmbeddedEngine]:
    """Two places, a queue of two, and no state of other tests."""
    with running(EmbeddedConfig(model=str(tiny), device="cpu", max_batch=2, max_queue=2)) as engine:
        yield engine


def refused(engine: EmbeddedEngine, *requests: Request) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        ask(engine, *requests)
    return caught.value


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  what is waited for happens in another thread
            await asyncio.sleep(0.002)


def detail(engine: EmbeddedEngine) -> Any:
    return asyncio.run(engine.health()).detail


def endless(prompt: str = "on and on") -> Request:
    """A request that only its length ends."""
    return request(prompt, max_new_tokens=FOREVER)


def test_it_speaks_all_protocols_and_says_what_it_is(engine: EmbeddedEngine, plain: Any) -> None:
    assert isinstance(engine, StreamingEngine)
    assert isinstance(engine, Offloadable)
    assert isinstance(engine, Updatable)
    info = engine.info
    assert info.capabilities == {"chat", "tokens", "choices", "logprobs", "token_ids"}
    assert len(info.weight_version) == 12
    assert (info.context_len, info.num_gpus, info.batch_invariant) == (640, 0, False)
    assert info.parameters == sum(weights.numel() for weights in plain.parameters())
    ((answer,),) = ask(engine, request("Hi"))
    assert (answer.model, answer.weight_version) == (info.model, info.weight_version)


def test_health_counts(small: EmbeddedEngine) -> None:
    ask(small, request("Hi", max_new_tokens=5), request("Hi", max_new_tokens=3))
    health = asyncio.run(small.health())
    assert (health.healthy, health.state, health.error) == (True, "ready", None)
    assert health.detail["requests"] == 2
    assert health.detail["completion_tokens"] == 8
    assert health.detail["template_warnings"] == []
    assert health.detail["kv_bytes"] == 0


def test_a_late_request_joins_and_leaves_while_another_runs(engine: EmbeddedEngine) -> None:
    ((alone,),) = ask(engine, request("Quick", max_new_tokens=4))

    async def run() -> tuple[bool, Any, Any]:
        slow = asyncio.create_task(engine.generate(endless(), Deadline.after(60)))
        await until(lambda: engine._worker.batch and engine._worker.batch.decoder.rows)
        (quick,) = await engine.generate(request("Quick", max_new_tokens=4), Deadline.after(60))
        still_running = not slow.done()
        return still_running, quick, (await slow)[0]

    still_running, quick, slow = asyncio.run(run())
    assert still_running
    assert quick.token_ids == alone.token_ids
    ((slow_alone,),) = ask(engine, endless())
    assert slow.token_ids == slow_alone.token_ids
    assert len(slow.token_ids) == FOREVER


def test_the_context_ends_a_reply(engine: EmbeddedEngine) -> None:
    ((answer,),) = ask(engine, request("on and on", max_new_tokens=4096))
    assert answer.prompt_tokens + len(answer.token_ids) == 640
    assert answer.finish_reason == "length"


def test_a_prompt_over_the_context_is_refused_with_both_lengths(engine: EmbeddedEngine) -> None:
    error = refused(engine, request(TokenPrompt(token_ids=(1,) * 640)))
    assert error.kind is FailureKind.CONTEXT_OVERFLOW
    assert "640 tokens" in error.detail
    assert "context holds 640" in error.detail
    ask(engine, request(TokenPrompt(token_ids=(1,) * 639), max_new_tokens=9))


def test_the_configured_context_caps_that_of_the_model(tiny: Path) -> None:
    with running(EmbeddedConfig(model=str(tiny), device="cpu", max_context_len=32)) as engine:
        assert engine.info.context_len == 32
        assert refused(engine, request("x" * 40)).kind is FailureKind.CONTEXT_OVERFLOW


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (request("Hi", temperature=-1.0), r"temperature must be 0 or more \(got -1.0\)"),
        (request("Hi", temperature=float("nan")), "temperature"),
        (request("Hi", top_p=0.0), "top_p"),
        (request("Hi", max_new_tokens=0), "max_new_tokens"),
        (request("Hi", n=0), "n must be 1 or more"),
        (request("Hi", logprobs=101), "logprobs"),
        (request(TokenPrompt(token_ids=())), "no token ids"),
        (request(TokenPrompt(token_ids=(5, 9999))), "9999"),
        (Request(id="r", prompt=RulePrompt(rule="math", arguments={})), "'math'"),
        (request("Hi", chat_template_kwargs={"tokenize": True}), "'tokenize'"),
        (request("Hi", regex="1|0"), "cannot constrain a reply by regex"),
        (request("Hi", json_schema={}), "cannot constrain a reply by json_schema"),
    ],
)
def test_what_cannot_be_answered_is_named(engine: EmbeddedEngine, bad: Request, words: str) -> None:
    with pytest.raises(GenerationError, match=words) as caught:
        ask(engine, bad)
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_a_deadline_that_passes_frees_the_row(engine: EmbeddedEngine) -> None:
    async def run() -> None:
        with pytest.raises(GenerationError) as caught:
            await engine.generate(endless(), Deadline.after(0.05))
        assert caught.value.kind is FailureKind.TIMEOUT
        batch = engine._worker.batch
        assert batch is not None
        await until(lambda: batch.idle)
        assert not batch.decoder.rows

    asyncio.run(run())
    assert detail(engine)["kv_bytes"] == 0


def test_a_cancelled_caller_frees_the_row(engine: EmbeddedEngine) -> None:
    async def run() -> None:
        task = asyncio.create_task(engine.generate(endless(), Deadline.after(60)))
        batch = engine._worker.batch
        assert batch is not None
        await until(lambda: batch.decoder.rows)
        steps = batch.counters.steps
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: batch.idle)
        assert batch.counters.steps - steps < FOREVER / 2

    asyncio.run(run())


def test_waiting_requests_can_be_cancelled_too(small: EmbeddedEngine) -> None:
    async def run() -> None:
        running_two = [asyncio.create_task(small.generate(endless(), Deadline.after(60))) for _ in range(2)]
        waiting = asyncio.create_task(small.generate(request("Hi"), Deadline.after(0.03)))
        with pytest.raises(GenerationError) as caught:
            await waiting
        assert caught.value.kind is FailureKind.TIMEOUT
        assert [len((await task)[0].token_ids) for task in running_two] == [FOREVER] * 2

    asyncio.run(run())


def test_a_full_queue_refuses_with_a_time_to_come_back(small: EmbeddedEngine) -> None:
    async def run() -> list[Any]:
        calls = [small.generate(request(f"{i}", max_new_tokens=40), Deadline.after(60)) for i in range(6)]
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(run())
    errors = [r for r in results if isinstance(r, GenerationError)]
    assert [e.kind for e in errors] == [FailureKind.OVERLOADED] * 2
    assert all(e.retry_after is not None and e.retry_after >= 0.5 for e in errors)
    ask(small, request("room again"))


def test_streamed_pieces_are_the_reply(engine: EmbeddedEngine) -> None:
    wanted = request("Stream this", n=2, temperature=1.0, seed=4, logprobs=0, max_new_tokens=20, stop=("th",))

    async def run() -> list[Delta]:
        return [delta async for delta in engine.stream(wanted, Deadline.after(60))]

    deltas = asyncio.run(run())
    (whole,) = ask(engine, wanted)
    for index, answer in enumerate(whole):
        own = [d for d in deltas if d.index == index]
        assert "".join(d.text for d in own) == answer.text
        assert tuple(i for d in own for i in d.token_ids) == answer.token_ids
        assert tuple(v for d in own for v in d.logprobs or ()) == pytest.approx(answer.logprobs, abs=1e-4)
        assert [d.finish_reason for d in own if d.finish_reason] == [answer.finish_reason]
        assert own[-1].finish_reason


def test_a_stream_that_is_left_frees_the_row_and_one_that_fails_raises(engine: EmbeddedEngine) -> None:
    async def run() -> None:
        stream = engine.stream(endless(), Deadline.after(60))
        async for _ in stream:
            break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        batch = engine._worker.batch
        assert batch is not None
        await until(lambda: batch.idle)
        with pytest.raises(GenerationError, match="temperature"):
            async for _ in engine.stream(request("Hi", temperature=-1.0), Deadline.after(60)):
                pass
        with pytest.raises(GenerationError, match="deadline"):
            async for _ in engine.stream(endless(), Deadline.after(0.05)):
                pass

    asyncio.run(run())


def test_choices_stream_as_one_piece(engine: EmbeddedEngine) -> None:
    async def run() -> list[Delta]:
        return [d async for d in engine.stream(request("Hi", choices=("a", "b")), Deadline.after(60))]

    (delta,) = asyncio.run(run())
    assert delta.text in ("a", "b")
    assert delta.finish_reason == "stop"


def test_sleep_frees_what_it_says_and_wake_brings_the_same_model_back(small: EmbeddedEngine) -> None:
    ((before,),) = ask(small, request("Hi", logprobs=0))
    held = detail(small)
    loaded = small._worker.loaded
    assert loaded is not None
    assert loaded.runner is not None
    weights = {p.data_ptr(): p.nbytes for p in (*loaded.runner.model.parameters(), *loaded.runner.model.buffers())}
    del weights[next(iter(weights))]  # so that no reference of this test keeps the sum trivially equal
    freed = asyncio.run(small.sleep())
    assert loaded.runner is None
    assert freed > held["prefix_bytes"] + sum(weights.values())
    error = refused(small, request("Hi"))
    assert (error.kind, error.retryable) == (FailureKind.ASLEEP, True)
    health = asyncio.run(small.health())
    assert (health.healthy, health.state) == (True, "asleep")
    assert asyncio.run(small.sleep()) == 0
    taken = asyncio.run(small.wake())
    assert taken == freed - held["prefix_bytes"]
    ((after,),) = ask(small, request("Hi", logprobs=0))
    assert after.token_ids == before.token_ids
    assert after.logprobs == pytest.approx(before.logprobs, abs=1e-5)
    assert asyncio.run(small.wake()) == 0


def test_sleep_of_the_cache_alone_keeps_the_weights(small: EmbeddedEngine) -> None:
    ask(small, request("Hi"))
    held = detail(small)["prefix_bytes"]
    assert held > 0
    assert asyncio.run(small.sleep(KV)) == held
    assert refused(small, request("Hi")).kind is FailureKind.ASLEEP
    assert asyncio.run(small.wake(WEIGHTS)) == 0
    assert refused(small, request("Hi")).kind is FailureKind.ASLEEP
    asyncio.run(small.wake(KV))
    ask(small, request("Hi"))


def test_sleep_lets_accepted_requests_finish(small: EmbeddedEngine) -> None:
    async def run() -> int:
        tasks = [asyncio.create_task(small.generate(request(f"{i}"), Deadline.after(60))) for i in range(4)]
        await asyncio.sleep(0)
        await small.sleep(WEIGHTS)
        return sum(len(answers) for answers in await asyncio.gather(*tasks))

    assert asyncio.run(run()) == 4


def test_new_weights_change_version_and_replies_and_drop_the_cache(small: EmbeddedEngine, other_weights: Path) -> None:
    ((old,),) = ask(small, request("Hi there"))
    asyncio.run(small.update_weights(str(other_weights), "step-7"))
    assert small.info.weight_version == "step-7"
    assert detail(small)["prefix_tokens"] == 0
    ((new,),) = ask(small, request("Hi there"))
    assert new.weight_version == "step-7"
    assert new.cached_tokens == 0
    with running(EmbeddedConfig(model=str(other_weights), device="cpu")) as fresh:
        ((expected,),) = ask(fresh, request("Hi there"))
    assert new.token_ids == expected.token_ids != old.token_ids
    asyncio.run(small.sleep())
    asyncio.run(small.wake())
    ((woken,),) = ask(small, request("Hi there"))
    assert (woken.token_ids, woken.weight_version) == (new.token_ids, "step-7")


def test_weights_that_do_not_fit_leave_the_old_ones_in_use(small: EmbeddedEngine, tmp_path: Path) -> None:
    from .conftest import save_model, tiny_config

    ((before,),) = ask(small, request("Hi"))
    version = small.info.weight_version
    for source, error, words in (
        (str(tmp_path / "none"), InputError, "no such folder"),
        (str(save_model(tmp_path / "wide", tiny_config(hidden_size=32))), InputError, "does not fit"),
    ):
        with pytest.raises(error, match=words):
            asyncio.run(small.update_weights(source, "new"))
    ((after,),) = ask(small, request("Hi"))
    assert (after.token_ids, small.info.weight_version) == (before.token_ids, version)


def test_weights_that_changed_on_disk_do_not_wake_as_the_old_judge(tmp_path: Path) -> None:
    from .conftest import save_model, tiny_config

    save_model(tmp_path, tiny_config())
    with running(EmbeddedConfig(model=str(tmp_path), device="cpu")) as engine:
        asyncio.run(engine.sleep())
        save_model(tmp_path, tiny_config(), seed=9)
        with pytest.raises(StartError, match="changed while"):
            asyncio.run(engine.wake())
        assert refused(engine, request("Hi")).kind is FailureKind.ASLEEP


def test_two_event_loops_share_one_engine(engine: EmbeddedEngine) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda i=i: found.append(ask(engine, request(f"loop {i}")))) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3


def test_a_crash_tells_everybody_and_shows_in_health(
    small: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(self: Batch) -> None:
        raise ZeroDivisionError("boom")

    async def run() -> list[Any]:
        monkeypatch.setattr(Batch, "step", explode)
        return await asyncio.gather(
            *(small.generate(request(f"{i}"), Deadline.after(20)) for i in range(3)), return_exceptions=True
        )

    for error in asyncio.run(run()):
        assert isinstance(error, GenerationError)
        assert error.kind is FailureKind.ENGINE_ERROR
        assert "ZeroDivisionError: boom" in error.detail
    health = asyncio.run(small.health())
    assert (health.healthy, health.state) == (False, "failed")
    assert "boom" in (health.error or "")
    assert "boom" in refused(small, request("later")).detail
    assert "stopped" in caplog.text


def test_running_out_of_memory_costs_the_requests_not_the_engine(
    small: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Batch) -> None:
        raise torch.OutOfMemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Batch, "step", full)
        error = refused(small, request("Hi"))
    assert (error.kind, error.retryable) == (FailureKind.ENGINE_ERROR, True)
    assert "max_batch" in error.detail
    ask(small, request("Hi"))


def test_a_model_that_computes_nan_fails_the_request_and_no_other(small: EmbeddedEngine) -> None:
    loaded = small._worker.loaded
    assert loaded is not None
    assert loaded.runner is not None
    broken_token = 7
    with torch.no_grad():
        loaded.runner.model.get_input_embeddings().weight[broken_token] = float("nan")
    prompts = [TokenPrompt(token_ids=(1, 2, 3)), TokenPrompt(token_ids=(1, broken_token, 3))]

    async def run() -> list[Any]:
        calls = [small.generate(request(p, max_new_tokens=1), Deadline.after(20)) for p in prompts]
        return await asyncio.gather(*calls, return_exceptions=True)

    fine, bad = asyncio.run(run())
    assert len(fine) == 1
    assert isinstance(bad, GenerationError)
    assert bad.kind is FailureKind.ENGINE_ERROR


def test_closing_ends_what_runs_and_may_be_done_twice(tiny: Path) -> None:
    async def run() -> None:
        engine = EmbeddedEngine(EmbeddedConfig(model=str(tiny), device="cpu"))
        with pytest.raises(GenerationError, match="has not started"):
            await engine.generate(request("Hi"), Deadline.after(1))
        await engine.start()
        await engine.start()
        task = asyncio.create_task(engine.generate(endless(), Deadline.after(60)))
        await until(lambda: engine._worker.batch and engine._worker.batch.decoder.rows)
        await engine.close()
        await engine.close()
        with pytest.raises(GenerationError, match="closed"):
            await task
        with pytest.raises(GenerationError, match="closed"):
            await engine.generate(request("Hi"), Deadline.after(1))
        assert (await engine.health()).state == "closed"
        await EmbeddedEngine(EmbeddedConfig()).close()

    asyncio.run(run())


def test_an_image_is_refused_by_name(engine: EmbeddedEngine) -> None:
    parts = ({"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}})
    prompt = chat("")
    with_image = Request(id="i", prompt=type(prompt)(messages=(Message(role="user", content=parts),)))
    error = refused(engine, with_image)
    assert (error.kind, "'image_url'" in error.detail) == (FailureKind.BAD_REQUEST, True)
