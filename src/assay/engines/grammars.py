"""Structured output: replies that a ``regex`` or a ``json_schema`` constrains. Pure.

An engine applies a grammar or refuses the request; it never leaves one out in silence.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet

from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, SamplingParams

from .base import Capability


def refuse_grammar(sampling: SamplingParams, capabilities: AbstractSet[Capability], engine: str) -> None:
    """Raises GenerationError (bad_request) for a grammar that ``engine`` cannot apply, and for two at once."""
    if sampling.regex is not None and sampling.json_schema is not None:
        raise _bad("regex and json_schema both constrain the reply; send one")
    for name, value in (("regex", sampling.regex), ("json_schema", sampling.json_schema)):
        if value is not None and name not in capabilities:
            raise _bad(f"the {engine} engine cannot constrain a reply by {name} here; leave it out")


def check_json(completion: Completion, sampling: SamplingParams) -> None:
    """Raises GenerationError (engine_error) where a schema was asked for and a whole reply is not even JSON.

    A ``regex`` of a request is not matched here: one that backtracks without end would stop the service.
    """
    if sampling.json_schema is None or completion.finish_reason != "stop":
        return
    text = completion.text.rpartition("</think>")[2]
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise not_followed(text) from None


def not_followed(text: str) -> GenerationError:
    """What a reply is that the engine should have constrained, and did not."""
    detail = f"the reply does not follow the grammar it was constrained to: {text!r:.120}"
    return GenerationError(FailureKind.ENGINE_ERROR, detail)


def _bad(detail: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, detail)
