"""The client against a real service on a real socket, and against a server that misbehaves as told."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from assay.client import GenRMClient, GenRMError
from assay.client.client import service_share
from assay.client.retry import CONNECT_ATTEMPTS
from assay.core.errors import GenerationError, InputError
from assay.core.types import Candidate, Failure, FailureKind, Item, Message, Verdict
from assay.service.server import bind, running
from assay.service.settings import ServiceSettings
from assay.wire.score import FailureReply, ItemBody, VerdictReply, to_outcome

from ..service.doubles import USER, Puppet, make_app, overflow, until

PORT_0 = ServiceSettings(port=0, drain_s=2)
ITEM = Item(
    id="1", messages=(Message(role="user", content="2+2?"),), candidates=(Candidate(text="Answer: 4"),), reference="4"
)


@asynccontextmanager
async def served(engine: Puppet | dict[str, Puppet], **settings: object) -> AsyncGenerator[GenRMClient]:
    key = settings.get("api_key")
    async with (
        running(make_app(engine, **settings), PORT_0) as url,
        GenRMClient(url, api_key=None if key is None else str(key), timeout_s=20) as client,
    ):
        yield client


@dataclass
class Scripted:
    """A server that answers each request with the next reply: bytes to send, or None to hang up."""

    replies: Sequence[bytes | None]
    seen: list[bytes] = field(default_factory=list[bytes])
    left: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await self._request(reader):
            reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
            self.seen.append(head)
            if reply is None:
                break
            if reply == b"hang":
                await reader.read()
                self.left += 1
                break
            writer.write(reply)
        writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""
        length = next(
            (int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")), 0
        )
        return head + await reader.readexactly(length)


def http(status: int, body: object, *headers: str) -> bytes:
    data = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(head).encode() + data


GOOD = http(200, {"response": "1"})
BUSY = http(429, {"error": {"type": "overloaded", "message": "the queue is full"}}, "Retry-After: 0.05")


@asynccontextmanager
async def scripted(*replies: bytes | None, timeout_s: float = 20) -> AsyncGenerator[tuple[Scripted, GenRMClient]]:
    script = Scripted(replies)
    server = await asyncio.start_server(script, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, GenRMClient(f"http://127.0.0.1:{port}/genrm", timeout_s=timeout_s) as client:
        yield script, client


def test_generate_as_the_seeds_call_it() -> None:
    async def run() -> None:
        engines = {"quality": Puppet(text="1"), "safety": Puppet(text="0")}
        async with served(engines) as client:
            assert await client.generate(messages=USER, route_key="quality") == "1"
            assert await client.generate(USER, {"temperature": 0.2}, "safety") == "0"
            assert await client.generate([Message(role="user", content="答案?")], route_key="quality") == "1"
        assert engines["safety"].requests[0].sampling.temperature == 0.2
        assert engines["quality"].requests[1].prompt.messages[0].content == "答案?"  # type: ignore[union-attr]

    asyncio.run(run())


def test_a_score_is_a_verdict_or_a_typed_failure() -> None:
    async def run() -> None:
        engine = Puppet(text="1")
        async with served(engine) as client:
            reply = await client.score("verifier", ITEM)
            assert isinstance(reply, VerdictReply)
            assert to_outcome(reply) == Verdict(scores=(1.0,), text="1")
            engine.text = "hm"
            reply = await client.score("verifier", ItemBody(prompt="1+1?", candidates=["2"], reference="2"), seed=3)
            assert isinstance(reply, FailureReply)
            outcome = to_outcome(reply)
            assert isinstance(outcome, Failure)
            assert (outcome.kind, outcome.text) == (FailureKind.PARSE_ERROR, "hm")

    asyncio.run(run())


def test_health_and_metrics() -> None:
    async def run() -> None:
        async with served(Puppet()) as client:
            assert (await client.health()).status == "healthy"
            assert (await client.metrics())["model_path"] == "puppet"
        async with scripted(http(503, {"status": "unhealthy", "service": "genrm", "error": "lost"})) as (_, client):
            health = await client.health()
            assert (health.status, health.error) == ("unhealthy", "lost")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("route_key", "error", "status", "type_", "kind"),
    [
        ("nobody", None, 404, "not_found", FailureKind.BAD_REQUEST),
        (None, overflow(), 400, "context_overflow", FailureKind.CONTEXT_OVERFLOW),
        (None, GenerationError(FailureKind.ENGINE_ERROR, "gone"), 502, "engine_error", FailureKind.ENGINE_ERROR),
    ],
)
def test_a_refusal_is_typed_and_not_repeated(
    route_key: str | None, error: Exception | None, status: int, type_: str, kind: FailureKind
) -> None:
    async def run() -> None:
        engine = Puppet(error=error)
        async with served(engine) as client:
            with pytest.raises(GenRMError) as caught:
                await client.generate(USER, route_key=route_key)
            assert (caught.value.status, caught.value.type, caught.value.kind) == (status, type_, kind)
            assert isinstance(caught.value, GenerationError)
            assert len(engine.requests) == (route_key is None)

    asyncio.run(run())


def test_the_token_is_sent_and_a_missing_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with served(Puppet(), api_key="s3cret") as client:
            assert await client.generate(USER) == "1"
            async with GenRMClient(client.base_url) as stranger:
                with pytest.raises(GenRMError, match="HTTP 401, unauthorized"):
                    await stranger.generate(USER)
            monkeypatch.setenv("ASSAY_API_KEY", "s3cret")
            async with GenRMClient(client.base_url) as known:
                assert await known.generate(USER) == "1"

    asyncio.run(run())


def test_later_is_obeyed_and_the_time_left_travels() -> None:
    async def run() -> None:
        async with scripted(BUSY, BUSY, GOOD) as (script, client):
            begin = time.perf_counter()
            assert await client.generate(USER, deadline_s=5) == "1"
            assert time.perf_counter() - begin > 0.1, "twice what Retry-After said"
            left = [float(head.split(b"X-Assay-Deadline-S: ")[1].split(b"\r\n")[0]) for head in script.seen]
            assert 4.76 > left[0] > left[1] + 0.04 > left[2] + 0.08, "a little less than the client has itself"

    asyncio.run(run())


def test_the_services_own_account_of_a_timeout_arrives() -> None:
    async def run() -> None:
        async with served(Puppet(gate=asyncio.Event())) as client:
            reply = await client.score("verifier", ITEM, deadline_s=1)
            assert isinstance(reply, FailureReply)
            assert reply.failure.kind is FailureKind.TIMEOUT
            with pytest.raises(GenRMError) as caught:
                await client.generate(USER, deadline_s=1)
            assert (caught.value.status, caught.value.kind) == (504, FailureKind.TIMEOUT)

    assert service_share(1) == 0.95
    assert service_share(600) == 599
    asyncio.run(run())


def test_no_time_to_come_back_is_an_error_at_once() -> None:
    async def run() -> None:
        late = http(503, {"error": {"type": "asleep", "message": "instance 'x' is asleep"}}, "Retry-After: 60")
        async with scripted(late) as (script, client):
            begin = time.perf_counter()
            with pytest.raises(GenRMError) as caught:
                await client.generate(USER, deadline_s=10)
            assert time.perf_counter() - begin < 1
            assert (caught.value.kind, caught.value.retry_after, len(script.seen)) == (FailureKind.ASLEEP, 60, 1)

    asyncio.run(run())


def test_one_deadline_crosses_all_attempts() -> None:
    async def run() -> None:
        async with scripted(BUSY) as (script, client):
            begin = time.perf_counter()
            with pytest.raises(GenRMError, match="the queue is full"):
                await client.generate(USER, deadline_s=0.2)
            assert time.perf_counter() - begin < 0.3
            assert len(script.seen) > 1

    asyncio.run(run())


def test_an_answer_that_does_not_come_is_a_timeout_and_the_connection_is_closed() -> None:
    async def run() -> None:
        async with scripted(b"hang") as (script, client):
            with pytest.raises(GenRMError) as caught:
                await client.generate(USER, deadline_s=0.1)
            assert (caught.value.status, caught.value.kind) == (None, FailureKind.TIMEOUT)
            await until(lambda: script.left == 1)

    asyncio.run(run())


def test_a_caller_that_is_cancelled_stops_the_engine() -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        async with served(engine) as client:
            call = asyncio.create_task(client.generate(USER))
            await until(lambda: len(engine.requests) == 1)
            call.cancel()
            await until(lambda: engine.cancelled == 1)

    asyncio.run(run())


def test_a_dropped_connection_is_tried_again() -> None:
    async def run() -> None:
        async with scripted(None, None, GOOD) as (script, client):
            client._random = random.Random(1)
            assert await client.generate(USER) == "1"
            assert len(script.seen) == 3

    asyncio.run(run())


def test_a_service_that_is_not_there_is_named_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []

    def at_once(attempt: int, *_: object) -> float:
        waits.append(attempt)
        return 0.0

    monkeypatch.setattr("assay.client.client.wait_s", at_once)
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

    async def run() -> None:
        async with GenRMClient(f"http://127.0.0.1:{port}/genrm") as client:
            with pytest.raises(GenRMError, match=f"no reply, unreachable: http://127.0.0.1:{port}/genrm") as caught:
                await client.generate(USER)
            assert caught.value.kind is FailureKind.ENGINE_ERROR

    asyncio.run(run())
    assert len(waits) == CONNECT_ATTEMPTS


def test_a_reply_that_is_not_ours_is_an_error_and_not_a_text() -> None:
    async def run() -> None:
        async with scripted(http(200, {"text": "1"})) as (_, client):
            with pytest.raises(GenRMError, match="a reply that is none of a GenRM service"):
                await client.generate(USER)
        async with scripted(http(502, "<html>")) as (_, client):
            with pytest.raises(GenRMError) as caught:
                await client.generate(USER)
            assert caught.value.kind is FailureKind.ENGINE_ERROR

    asyncio.run(run())


def test_a_large_body_is_sent_whole() -> None:
    async def run() -> None:
        engine = Puppet()
        async with served(engine) as client:
            text = "é" * 2_000_000
            assert await client.generate([{"role": "user", "content": text}]) == "1"
        assert engine.requests[0].prompt.messages[0].content == text  # type: ignore[union-attr]

    asyncio.run(run())


def test_close_really_closes() -> None:
    async def run() -> None:
        async with scripted(GOOD) as (_, client):
            await client.generate(USER)
            session = client._session
            assert session is not None
            assert session.connector is not None
            await client.close()
            await client.close()
            assert session.closed
            assert session.connector is None or session.connector.closed
            with pytest.raises(RuntimeError, match="closed"):
                await client.generate(USER)

    asyncio.run(run())


def test_a_thousand_calls_at_once_are_all_answered() -> None:
    async def run() -> None:
        async with served(Puppet(), max_in_flight=16, max_queue=100) as client:
            replies = await asyncio.gather(*(client.generate(USER) for _ in range(1000)))
            assert replies == ["1"] * 1000

    asyncio.run(run())


@pytest.mark.parametrize("url", ["nonsense", "localhost:8000", "ftp://host/genrm", "http://"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InputError, match="write http://host:port/genrm"):
        GenRMClient(url)
