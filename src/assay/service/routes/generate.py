"""``POST /generate``: messages in, raw text out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.core.types import ChatPrompt
from assay.core.types import Request as EngineRequest
from assay.wire.generate import GenerateBody, GenerateReply
from assay.wire.messages import to_messages
from assay.wire.sampling import to_sampling

from ..call import Call
from ..direct import DirectRoutes
from ..gateway import Gateway
from ..replies import json_reply
from ..settings import ServiceSettings
from .documented import UNANSWERED


def add_generate(routes: DirectRoutes, gateway: Gateway, settings: ServiceSettings) -> None:
    """Add the route."""

    async def generate(request: Request, body: GenerateBody) -> Response:
        """The judge model's raw text.

        ``X-Assay-Finish-Reason: length`` in the reply says that the text was cut at its most tokens. A deadline
        travels in ``X-Assay-Deadline-S`` (seconds left).
        """
        call = Call.of(request)
        instance = gateway.instance(body.route_key)
        sampling = instance.scorer.sampling
        if body.sampling_params is not None:
            sampling = to_sampling(body.sampling_params).over(sampling)
        asked = EngineRequest(
            id=call.request_id, prompt=ChatPrompt(messages=to_messages(body.messages)), sampling=sampling
        )
        completion = (await instance.generate(asked, call, call.deadline(settings.deadline_s)))[0]
        whole = completion.finish_reason == "stop"
        headers = None if whole else {"X-Assay-Finish-Reason": completion.finish_reason}
        return json_reply({"response": completion.text}, headers=headers)

    routes.add("POST", "/generate", generate, response_model=GenerateReply, responses=UNANSWERED, tags=["genrm"])
