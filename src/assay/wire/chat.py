"""``POST /v1/chat/completions``: the request, as far as OpenAI's shape can be honoured by the engines here.

What OpenAI knows and no engine here does (tools, penalties, ...) is refused by name, unless its value asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from assay.core.types import SamplingParams

from .body import Body, JsonObject
from .grammar import Regex, ResponseFormat, wanted_schema
from .messages import Messages
from .sampling import Positive, Seed, Stop, Temperature, TopP, to_stop

UNSUPPORTED: Mapping[str, tuple[Any, ...]] = {
    "audio": (),
    "frequency_penalty": (0,),
    "function_call": ("none",),
    "functions": ([],),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "parallel_tool_calls": (True, False),
    "prediction": (),
    "presence_penalty": (0,),
    "reasoning_effort": (),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "stream_options": ({}, {"include_usage": False}),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "verbosity": (),
    "web_search_options": (),
}
"""Keys of OpenAI's request that are not honoured, and the values beside null that ask for nothing."""


class ChatBody(Body):
    """A chat completion request."""

    model: str
    """Names the instance (its route key); the name of its model will do where only one instance has it."""

    messages: Messages
    n: Annotated[int, Field(ge=1, le=128)] = 1
    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    """Not OpenAI's, but understood by most engines: ``extra_body={"top_k": ...}``."""

    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    stop: Stop | None = None
    seed: Seed | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    stream: bool | None = None
    chat_template_kwargs: JsonObject | None = None
    """Handed to the chat template, e.g. ``extra_body={"chat_template_kwargs": {"enable_thinking": false}}``."""

    response_format: ResponseFormat | None = None
    """A schema for the reply, where the engine can; one that cannot refuses the request."""

    regex: Regex | None = None
    """Not OpenAI's, but SGLang's: ``extra_body={"regex": ...}``."""

    user: str | None = None
    """Accepted, and read by nobody."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        given: dict[str, Any] = body
        for key in UNSUPPORTED.keys() & given.keys():
            if given[key] is not None and given[key] not in UNSUPPORTED[key]:
                raise ValueError(f"{key!r} is not supported here (got {given[key]!r:.80}); leave it out")
        return {key: value for key, value in given.items() if key not in UNSUPPORTED}

    @model_validator(mode="after")
    def _consistent(self) -> ChatBody:
        if self.max_tokens and self.max_completion_tokens and self.max_tokens != self.max_completion_tokens:
            raise ValueError("max_tokens and max_completion_tokens mean the same and disagree here; say one")
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs needs logprobs to be true")
        if self.regex is not None and wanted_schema(self.response_format) is not None:
            raise ValueError("regex and response_format both constrain the reply; say one")
        return self


def chat_sampling(body: ChatBody) -> SamplingParams:
    """The sampling parameters of a chat request; what it does not say stays unsaid."""
    return SamplingParams(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=-1 if body.top_k == 0 else body.top_k,
        max_new_tokens=body.max_completion_tokens or body.max_tokens,
        stop=to_stop(body.stop),
        seed=body.seed,
        # At least one alternative: engines tell tokens' texts with those, and mostly it is the one that was sampled.
        logprobs=max(1, body.top_logprobs or 0) if body.logprobs else None,
        chat_template_kwargs=body.chat_template_kwargs,
        regex=body.regex,
        json_schema=wanted_schema(body.response_format),
    )
