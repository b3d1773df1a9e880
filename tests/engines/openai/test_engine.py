"""The engine against real servers on loopback sockets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.core.types import ChatPrompt, FailureKind, Message, Request, SamplingParams, TokenPrompt
from assay.engines.base import StreamingEngine
from assay.engines.openai.config import OpenAIConfig
from assay.engines.openai.engine import OpenAIEngine

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
CHAT = ChatPrompt(messages=(Message(role="user", content="Is 2 + 2 = 4?"),))


class Server:
    """Answers chat completions by a script: one entry per call (the last one again and again)."""

    def __init__(self, *script: Any, models: Any = ("judge",)) -> None:
        self.script = list(script)
        self.models = models
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reached = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.at_once = 0
        self.most_at_once = 0

    async def completions(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.reached.set()
        self.headers.append(dict(request.headers))
        step = self.script[min(len(self.bodies), len(self.script)) - 1]
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if callable(step):
                step = await step(request)
            return step if isinstance(step, web.StreamResponse) else web.json_response(step)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        finally:
            self.at_once -= 1

    async def list_models(self, _: web.Request) -> web.Response:
        if isinstance(self.models, int):
            return web.Response(status=self.models, text="no")
        return web.json_response({"data": [{"id": name, "max_model_len": 8192} for name in self.models]})


def run(server: Server, body: Callable[[OpenAIEngine], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.completions)
        app.router.add_post("/v1/completions", server.completions)
        app.router.add_get("/v1/models", server.list_models)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        engine = OpenAIEngine(OpenAIConfig.model_validate({"base_url": url, "backoff_s": 0.01} | options))
        try:
            await engine.start()
            await body(engine)
        finally:
            await engine.close()
            await engine.close()
            await runner.cleanup()

    asyncio.run(main())


def answer(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            for i, text in enumerate(texts)
        ],
        "model": "judge",
    } | more


def status(code: int, body: Any = None, **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=body if isinstance(body, str) else json.dumps(body), headers=named)

    return handler


async def hang(_: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


def ask(n: int = 1, **sampling: Any) -> Request:
    return Request(id="r", prompt=CHAT, n=n, sampling=SamplingParams(**sampling))


async def failure(engine: OpenAIEngine, request: Request | None = None, seconds: float = 5) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        await engine.generate(request or ask(), Deadline.after(seconds))
    return caught.value


def test_a_reply_comes_back_and_the_model_is_found_out() -> None:
    server = Server(answer("yes", "no"))

    async def body(engine: OpenAIEngine) -> None:
        first, second = await engine.generate(ask(n=2, seed=7), Deadline.after(5))
        assert (first.text, second.text, first.seed, second.index) == ("yes", "no", 7, 1)
        assert (engine.info.model, engine.info.context_len) == ("judge", 8192)
        assert {"chat", "tokens", "logprobs", "choices"} <= engine.info.capabilities
        health = await engine.health()
        assert (health.healthy, health.state, health.detail["running"]) == (True, "awake", 0)

    run(server, body)
    assert server.bodies[0]["seed"] == 7
    assert server.bodies[0]["model"] == "judge"


def test_token_ids_go_to_the_completions_route() -> None:
    server = Server({"choices": [{"index": 0, "text": "on", "finish_reason": "length"}]})

    async def body(engine: OpenAIEngine) -> None:
        request = Request(id="r", prompt=TokenPrompt(token_ids=(5, 6)))
        (completion,) = await engine.generate(request, Deadline.after(5))
        assert (completion.text, completion.finish_reason) == ("on", "length")

    run(server, body)
    assert server.bodies[0]["prompt"] == [5, 6]


def test_failures_that_may_pass_are_tried_again() -> None:
    async def drop(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    server = Server(status(500, "oops"), status(502, "<html>"), drop, status(200, '{"choices": [NaN'), answer("1"))

    async def body(engine: OpenAIEngine) -> None:
        assert (await engine.generate(ask(), Deadline.after(5)))[0].text == "1"

    run(server, body)
    assert len(server.bodies) == 5


def test_after_the_last_attempt_the_failure_is_that_of_the_server() -> None:
    server = Server(status(500, {"error": {"message": "CUDA error"}}))

    async def body(engine: OpenAIEngine) -> None:
        error = await failure(engine)
        assert error.kind is FailureKind.ENGINE_ERROR
        assert "CUDA error" in error.detail

    run(server, body, max_retries=2)
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (400, "maximum context length is 8192", FailureKind.CONTEXT_OVERFLOW),
        (400, "bad temperature", FailureKind.BAD_REQUEST),
        (403, "flagged by moderation", FailureKind.REFUSED),
        (404, "no such model", FailureKind.BAD_REQUEST),
        (302, "moved", FailureKind.BAD_REQUEST),
    ],
)
def test_what_will_not_pass_fails_at_once(code: int, message: str, kind: FailureKind) -> None:
    server = Server(status(code, {"error": {"message": message}}, Location="http://elsewhere/v1"))

    async def body(engine: OpenAIEngine) -> None:
        assert (await failure(engine)).kind is kind

    run(server, body)
    assert len(server.bodies) == 1


def test_retry_after_is_obeyed_by_every_request_of_the_engine() -> None:
    server = Server(status(429, {"error": {"message": "slow"}}, Retry_After="0.15"), answer("1"))

    async def body(engine: OpenAIEngine) -> None:
        clock = asyncio.get_running_loop().time
        begin = clock()
        refused = asyncio.create_task(engine.generate(ask(), Deadline.after(5)))
        await asyncio.sleep(0.05)
        await engine.generate(ask(), Deadline.after(5))
        assert clock() - begin >= 0.14
        await refused
        assert clock() - begin >= 0.14

    run(server, body)
    assert len(server.bodies) == 3


def test_retry_after_beyond_the_deadline_is_told_at_once() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server = Server(status(429, {"error": {"message": "slow"}}, Retry_After=date))

    async def body(engine: OpenAIEngine) -> None:
        error = await asyncio.wait_for(failure(engine, seconds=30), 2)
        assert error.kind is FailureKind.OVERLOADED
        assert error.retry_after == pytest.approx(3600, abs=5)

    run(server, body)
    assert len(server.bodies) == 1


def test_one_deadline_for_all_attempts() -> None:
    server = Server(status(500, "first failure"), hang)

    async def body(engine: OpenAIEngine) -> None:
        begin = asyncio.get_running_loop().time()
        error = await failure(engine, seconds=0.3)
        assert error.kind is FailureKind.TIMEOUT
        assert "first failure" in error.detail
        assert asyncio.get_running_loop().time() - begin < 1
        await asyncio.wait_for(server.cancelled.wait(), 2)

    run(server, body)
    assert len(server.bodies) == 2


def test_a_stuck_replica_leaves_time_for_another() -> None:
    server = Server(hang, answer("1"))

    async def body(engine: OpenAIEngine) -> None:
        assert (await engine.generate(ask(), Deadline.after(5)))[0].text == "1"

    run(server, body, attempt_timeout_s=0.1)


def test_the_server_sees_a_caller_leave() -> None:
    server = Server(hang)

    async def body(engine: OpenAIEngine) -> None:
        task = asyncio.create_task(engine.generate(ask(), Deadline.after(30)))
        await asyncio.wait_for(server.reached.wait(), 2)
        task.cancel()
        await asyncio.wait_for(server.cancelled.wait(), 2)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(server, body)


def test_no_more_at_once_than_allowed() -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(0.01)
        return web.json_response(answer("1"))

    server = Server(slow)

    async def body(engine: OpenAIEngine) -> None:
        await asyncio.gather(*(engine.generate(ask(), Deadline.after(5)) for _ in range(20)))

    run(server, body, max_concurrency=3)
    assert server.most_at_once == 3


def test_the_rate_limit_is_kept_and_a_deadline_before_it_told() -> None:
    server = Server(answer("1", usage={"total_tokens": 12, "prompt_tokens": 10, "completion_tokens": 2}))

    async def body(engine: OpenAIEngine) -> None:
        for _ in range(6):  # the burst: a tenth of sixty a minute
            await engine.generate(ask(max_new_tokens=10), Deadline.after(5))
        error = await failure(engine, ask(max_new_tokens=10), seconds=0.5)
        assert error.kind is FailureKind.OVERLOADED

    run(server, body, requests_per_minute=60, tokens_per_minute=60_000)
    assert len(server.bodies) == 6


def test_a_server_that_ignores_n_is_asked_n_times() -> None:
    server = Server(answer("1"))

    async def body(engine: OpenAIEngine) -> None:
        three = await engine.generate(ask(n=3, seed=2**31 - 1), Deadline.after(5))
        assert [(c.request_id, c.index, c.seed) for c in three] == [("r", 0, 2**31 - 1), ("r", 1, 0), ("r", 2, 1)]

    run(server, body, supports_n=False)
    assert {each["n"] for each in server.bodies} == {1}


def test_a_server_that_ignores_the_schema_gives_no_verdict() -> None:
    server = Server(answer('{"score": 4}'), answer("four"))

    async def body(engine: OpenAIEngine) -> None:
        assert {"json_schema"} <= engine.info.capabilities
        asked = ask(json_schema={"type": "object"})
        assert (await engine.generate(asked, Deadline.after(5)))[0].text == '{"score": 4}'
        error = await failure(engine, asked)
        assert (error.kind, "does not follow the grammar" in error.detail) == (FailureKind.ENGINE_ERROR, True)

    run(server, body)


def test_the_first_failure_of_n_requests_ends_the_others() -> None:
    server = Server(status(400, {"error": {"message": "bad"}}), hang)

    async def body(engine: OpenAIEngine) -> None:
        assert (await failure(engine, ask(n=2))).kind is FailureKind.BAD_REQUEST

    run(server, body, supports_n=False)


def test_choices_over_the_wire() -> None:
    top = [{"token": "1", "logprob": -0.1}, {"token": "0", "logprob": -3.0}]
    reply = answer("1")
    reply["choices"][0] |= {"logprobs": {"content": [top[0] | {"top_logprobs": top}]}, "finish_reason": "length"}
    server = Server(reply)

    async def body(engine: OpenAIEngine) -> None:
        request = Request(id="r", prompt=CHAT, choices=("0", "1"))
        (completion,) = await engine.generate(request, Deadline.after(5))
        assert completion.choice_logprobs == (-3.0, -0.1)
        assert completion.text == "1"

    run(server, body)


def streamed(*events: str, then: Handler | None = None) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(f"data: {event}\n\n".encode())
        if then is not None:
            await then(request)
        return response

    return handler


def event(finish: str | None = None, **delta: str) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def test_a_stream_and_its_retry_before_it_begins() -> None:
    server = Server(status(503, "busy"), streamed(event(content="a"), event(content="b"), event("stop"), "[DONE]"))

    async def body(engine: OpenAIEngine) -> None:
        assert isinstance(engine, StreamingEngine)
        deltas = [delta async for delta in engine.stream(ask(), Deadline.after(5))]
        assert ["".join(d.text for d in deltas), deltas[-1].finish_reason] == ["ab", "stop"]

    run(server, body)
    assert server.bodies[1]["stream"] is True


def test_leaving_a_stream_ends_it_at_the_server() -> None:
    server = Server(streamed(event(content="a"), then=hang))

    async def body(engine: OpenAIEngine) -> None:
        stream = engine.stream(ask(), Deadline.after(30))
        assert (await anext(stream)).text == "a"
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        await asyncio.wait_for(server.cancelled.wait(), 2)
        assert (await engine.health()).detail["running"] == 0

    run(server, body)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (streamed(event(content="a"), then=hang), FailureKind.TIMEOUT),
        (streamed(event(content="a")), FailureKind.ENGINE_ERROR),
        (streamed(event(content="a"), '{"error": "out of memory"}'), FailureKind.ENGINE_ERROR),
    ],
)
def test_a_stream_that_stops_is_a_failure(script: Handler, kind: FailureKind) -> None:
    async def body(engine: OpenAIEngine) -> None:
        with pytest.raises(GenerationError) as caught:
            [delta async for delta in engine.stream(ask(), Deadline.after(0.3))]
        assert caught.value.kind is kind

    run(Server(script), body)


def test_the_key_is_sent_and_never_told() -> None:
    server = Server(status(401, {"error": {"message": "Incorrect API key provided: sk-hidden"}}))

    async def body(engine: OpenAIEngine) -> None:
        error = await failure(engine)
        assert "sk-hidden" not in str(error) + repr(engine)
        assert "***" in error.detail

    run(server, body, api_key=SecretStr("sk-hidden"))
    assert server.headers[0]["Authorization"] == "Bearer sk-hidden"


@pytest.mark.parametrize(
    ("models", "options", "error", "named"),
    [
        (("a", "b"), {}, InputError, r"which model .* it serves \['a', 'b'\]"),
        (("a",), {"model": "b"}, InputError, r"'b' is not served .* it serves \['a'\]"),
        (404, {}, InputError, "does not list its models"),
        (401, {"model": "a"}, InputError, "api_key_env"),
        (500, {"model": "a"}, StartError, "wait_s"),
    ],
)
def test_a_start_that_cannot_work(models: Any, options: dict[str, Any], error: type[AssayError], named: str) -> None:
    async def body(_: OpenAIEngine) -> None:
        raise AssertionError("it started")

    with pytest.raises(error, match=named):
        run(Server(answer("1"), models=models), body, **options)


def test_the_start_waits_for_a_server_that_is_still_loading() -> None:
    server = Server(answer("1"), models=503)

    async def body(engine: OpenAIEngine) -> None:
        assert engine.info.model == "judge"

    original = server.list_models

    async def list_models(request: web.Request) -> web.Response:
        if server.models == 503:
            asyncio.get_running_loop().call_later(0.1, lambda: setattr(server, "models", ("judge",)))
        return await original(request)

    server.list_models = list_models  # pyright: ignore[reportAttributeAccessIssue]
    run(server, body, wait_s=5)


def test_nobody_there() -> None:
    engine = OpenAIEngine(OpenAIConfig(base_url="http://127.0.0.1:9/v1", model="judge"))

    async def main() -> None:
        with pytest.raises(StartError, match="is the server up"):
            await engine.start()
        assert not (await engine.health()).healthy
        assert (await failure(engine)).kind is FailureKind.ENGINE_ERROR

    asyncio.run(main())


def test_health_says_what_is_wrong() -> None:
    server = Server(answer("1"))

    async def body(engine: OpenAIEngine) -> None:
        server.models = 500
        broken = await engine.health()
        assert (broken.healthy, broken.state) == (False, "unreachable")
        server.models = ("other",)
        gone = await engine.health()
        assert not gone.healthy
        assert "'judge'" in (gone.error or "")
        server.models = 404
        assert (await engine.health()).state == "unverified"

    run(server, body)
