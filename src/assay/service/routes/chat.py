"""``POST /v1/chat/completions`` and ``GET /v1/models``: what any OpenAI client speaks."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind
from assay.core.types import Request as EngineRequest
from assay.wire.chat import ChatBody, chat_sampling
from assay.wire.chat_reply import ChatReply, ModelsReply, chat_reply
from assay.wire.messages import to_messages

from ..call import Call
from ..chat_stream import stream_chat
from ..direct import DirectRoutes
from ..events import EventStream
from ..gateway import Gateway
from ..instance import Instance
from ..replies import json_reply
from ..settings import ServiceSettings
from .documented import UNANSWERED, errors

_CHAT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}},
    **UNANSWERED,
}


def add_chat(routes: DirectRoutes, gateway: Gateway, settings: ServiceSettings) -> None:
    """Add the routes."""
    created = int(time.time())

    async def chat_completions(request: Request, body: ChatBody) -> Response:
        """A chat completion, or with ``stream`` its chunks as server-sent events."""
        call = Call.of(request)
        instance = gateway.model(body.model)
        asked = _to_request(body, call, instance)
        deadline = call.deadline(settings.deadline_s)
        reply_id, now = f"chatcmpl-{call.request_id}", int(time.time())
        if body.stream:
            return EventStream(stream_chat(instance, asked, call, deadline, (reply_id, now, body.model)))
        completions = await instance.generate(asked, call, deadline)
        if body.logprobs and any(completion.logprobs is None for completion in completions):
            raise _no_logprobs(instance)
        return json_reply(chat_reply(reply_id, now, body.model, completions, body.top_logprobs or 0))

    async def models() -> Response:
        """The instances, by the names that ``model`` takes."""
        data = [
            {"id": key, "object": "model", "created": created, "owned_by": instance.model_path}
            for key, instance in gateway.instances.items()
        ]
        return json_reply({"object": "list", "data": data})

    routes.add(
        "POST",
        "/v1/chat/completions",
        chat_completions,
        response_model=ChatReply,
        responses=_CHAT,
        tags=["openai"],
    )
    routes.add("GET", "/v1/models", models, response_model=ModelsReply, responses=errors(401), tags=["openai"])


def _to_request(body: ChatBody, call: Call, instance: Instance) -> EngineRequest:
    if body.logprobs and "logprobs" not in instance.scorer.engine.info.capabilities:
        raise _no_logprobs(instance)
    if body.logprobs and body.stream:
        raise GenerationError(FailureKind.BAD_REQUEST, "logprobs are not streamed; leave out one of the two")
    return EngineRequest(
        id=call.request_id,
        prompt=ChatPrompt(messages=to_messages(body.messages)),
        sampling=chat_sampling(body).over(instance.scorer.sampling),
        n=body.n,
    )


def _no_logprobs(instance: Instance) -> GenerationError:
    detail = f"the engine of {instance.key!r} tells no log-probs of single tokens; ask without logprobs"
    return GenerationError(FailureKind.BAD_REQUEST, detail)
