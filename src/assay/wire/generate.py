"""``POST /generate``: the seeds' route. Messages in, the model's raw text out."""

from __future__ import annotations

from .body import Body, Reply
from .messages import Messages
from .sampling import SamplingBody


class GenerateBody(Body):
    """What the judge model is asked."""

    messages: Messages
    sampling_params: SamplingBody | None = None
    """Merged over the instance's sampling configuration, key by key."""

    route_key: str | None = None
    """Which instance answers; may be left out where there is one."""


class GenerateReply(Reply):
    """The raw text."""

    response: str
