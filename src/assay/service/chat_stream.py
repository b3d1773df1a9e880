"""A chat completion as chunks, while the engine writes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, Failure, FailureKind, FinishReason, Json, Request
from assay.engines.base import Delta, Engine, StreamingEngine
from assay.scoring.boundary import generate_all
from assay.wire.chat_reply import chat_chunk

from .call import Call
from .instance import Instance


async def stream_chat(
    instance: Instance,
    request: Request,
    call: Call,
    deadline: Deadline,
    named: tuple[str, int, str],
) -> AsyncGenerator[dict[str, Json], None]:
    """The chunks; the instance counts and records what was streamed, whole or cut short.

    Args:
        named: reply id, creation time and model name, as every chunk repeats them.

    Raises:
        GenerationError: the engine failed, or the deadline passed, before the texts were whole.
    """
    begin, grown = time.perf_counter(), _Grown(request)
    failure: Failure | None = Failure(kind=FailureKind.CANCELLED, detail="the client closed the connection")
    try:
        async with instance.in_flight(call, deadline):
            async for delta in _deltas(_source(instance.scorer.engine, request, deadline), deadline):
                if grown.add(delta):
                    yield chat_chunk(*named, delta.index, None, None)
                yield chat_chunk(*named, delta.index, delta.text, delta.finish_reason)
        failure = grown.unfinished()
        if failure is not None:
            raise GenerationError(failure.kind, failure.detail)
    except GenerationError as error:
        failure = error.failure()
        raise
    finally:
        instance.note(request, grown.completions(instance) if failure is None else failure, begin)


def _source(engine: Engine, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
    return (engine if isinstance(engine, StreamingEngine) else _AtOnce(engine)).stream(request, deadline)


class _AtOnce:
    """An engine that does not stream, as one that does: each text is one delta."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        answer = await generate_all(self._engine, [request], deadline)
        if isinstance(answer, Failure):
            raise GenerationError(answer.kind, answer.detail)
        for whole in answer:
            yield Delta(
                index=whole.index, text=whole.text, token_ids=whole.token_ids, finish_reason=whole.finish_reason
            )


async def _deltas(source: AsyncIterator[Delta], deadline: Deadline) -> AsyncIterator[Delta]:
    """Each wait within the deadline; the timeout must not span a yield, where another's code runs."""
    while True:
        try:
            async with asyncio.timeout(deadline.timeout):
                delta = await anext(source)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise GenerationError(FailureKind.TIMEOUT, "the text was not whole when the deadline passed") from None
        if delta.finish_reason == "abort":
            raise GenerationError(FailureKind.ENGINE_ERROR, "the engine aborted before the text was whole")
        yield delta


class _Grown:
    """What has been streamed so far, per sample."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._texts: dict[int, list[str]] = {}
        self._tokens: dict[int, list[int]] = {}
        self._ended: dict[int, FinishReason] = {}

    def add(self, delta: Delta) -> bool:
        """Take a delta; whether it is the first of its sample."""
        first = delta.index not in self._texts
        self._texts.setdefault(delta.index, []).append(delta.text)
        self._tokens.setdefault(delta.index, []).extend(delta.token_ids)
        if delta.finish_reason is not None:
            self._ended[delta.index] = delta.finish_reason
        return first

    def unfinished(self) -> Failure | None:
        """The failure of a stream that ended before all its samples did."""
        missing = self._request.n - len(self._ended)
        if not missing:
            return None
        detail = f"the engine's stream ended with {missing} of {self._request.n} texts unfinished"
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)

    def completions(self, instance: Instance) -> list[Completion]:
        info = instance.scorer.engine.info
        return [
            Completion(
                request_id=self._request.id,
                index=index,
                text="".join(self._texts[index]),
                finish_reason=self._ended[index],
                token_ids=tuple(self._tokens[index]),
                completion_tokens=len(self._tokens[index]),
                seed=self._request.sampling.seed,
                model=info.model,
                weight_version=info.weight_version,
            )
            for index in sorted(self._texts)
        ]
