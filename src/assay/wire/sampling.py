"""Sampling parameters on the wire: the names of the seeds, of the engines and of OpenAI, with one meaning."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from assay.core.types import SamplingParams

from .body import Body, JsonObject
from .grammar import Regex, SchemaOrText

SEED_MAX = 2**31 - 1

Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
TopP = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, le=SEED_MAX)]
Positive = Annotated[int, Field(ge=1)]
Stop = str | list[str]


class SamplingBody(Body):
    """``sampling_params`` of a request and ``--genrm-sampling-config``; what is not said is taken from the level below.

    ``max_new_tokens``, ``max_response_len`` and ``max_tokens`` mean the same.
    """

    temperature: Temperature | None = None
    """0 is greedy."""

    top_p: TopP | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    """-1 (or 0) switches it off."""

    max_new_tokens: Positive | None = None
    """Most tokens to generate."""

    max_response_len: Positive | None = None
    """The same, as the GenRM configuration names it."""

    max_tokens: Positive | None = None
    """The same, as OpenAI names it."""

    stop: Stop | None = None
    """Texts that end the reply; they are not part of it."""

    seed: Seed | None = None
    chat_template_kwargs: JsonObject | None = None
    """Handed to the engine's chat template, e.g. ``{"enable_thinking": false}``."""

    regex: Regex | None = None
    """Constrains the whole reply, where the engine can; one that cannot refuses the request."""

    json_schema: SchemaOrText | None = None
    """As ``regex``, with a JSON schema: the object, or its text as SGLang takes it."""

    @model_validator(mode="after")
    def _one_grammar(self) -> SamplingBody:
        if self.regex is not None and self.json_schema is not None:
            raise ValueError("regex and json_schema both constrain the reply; say one")
        return self

    @model_validator(mode="after")
    def _one_length(self) -> SamplingBody:
        said = {self.max_new_tokens, self.max_response_len, self.max_tokens} - {None}
        if len(said) > 1:
            raise ValueError("max_new_tokens, max_response_len and max_tokens mean the same and disagree here; say one")
        return self


def to_sampling(body: SamplingBody | None) -> SamplingParams:
    """Sampling parameters off the wire; what the body does not say stays unsaid."""
    if body is None:
        return SamplingParams()
    return SamplingParams(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=-1 if body.top_k == 0 else body.top_k,
        max_new_tokens=body.max_new_tokens or body.max_response_len or body.max_tokens,
        stop=to_stop(body.stop),
        seed=body.seed,
        chat_template_kwargs=body.chat_template_kwargs,
        regex=body.regex,
        json_schema=body.json_schema,
    )


def to_stop(stop: Stop | None) -> tuple[str, ...] | None:
    """Stop texts: OpenAI takes one or a list."""
    if stop is None:
        return None
    return (stop,) if isinstance(stop, str) else tuple(stop)
