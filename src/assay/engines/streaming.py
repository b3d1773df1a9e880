"""Any engine as one that streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from assay.core.deadline import Deadline
from assay.core.types import Request

from .base import Delta, Engine, StreamingEngine


async def deltas_of(engine: Engine, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
    """What the engine streams; of an engine that does not stream, each whole text as one delta."""
    if isinstance(engine, StreamingEngine):
        source = engine.stream(request, deadline)
        if isinstance(source, AsyncGenerator):
            # Closed at once when we are: then the engine knows that nobody listens any more.
            async with aclosing(source):
                async for delta in source:
                    yield delta
        else:
            async for delta in source:
                yield delta
        return
    for whole in await engine.generate(request, deadline):
        yield Delta(
            index=whole.index,
            text=whole.text,
            token_ids=whole.token_ids,
            logprobs=whole.logprobs,
            finish_reason=whole.finish_reason,
        )
