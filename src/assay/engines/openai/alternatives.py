"""Log-probs as OpenAI's two routes write them, and what they say about a fixed list of replies. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.errors import GenerationError
from assay.core.types import FailureKind, TokenLogprob

from .failures import broken

_ID_PREFIX = "token_id:"
LOWEST = -9999.0
"""Stands for a probability of zero, as OpenAI writes it; keeps infinities out of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a reply: the token that was sampled there, and the likeliest ones (it may be among them)."""

    sampled: TokenLogprob
    alternatives: tuple[TokenLogprob, ...] = ()


def read_places(logprobs: Any) -> tuple[Place, ...]:
    """The places of a choice's ``logprobs``, of either route; empty where there are none. Raises GenerationError."""
    if logprobs is None:
        return ()
    try:
        if isinstance(logprobs.get("content"), list):
            return tuple(
                Place(
                    sampled=_token(entry["token"], entry["logprob"]),
                    alternatives=tuple(_token(a["token"], a["logprob"]) for a in entry.get("top_logprobs") or ()),
                )
                for entry in logprobs["content"]
            )
        tokens, values = logprobs.get("tokens") or (), logprobs.get("token_logprobs") or ()
        tops = logprobs.get("top_logprobs") or [None] * len(tokens)
        return tuple(
            Place(
                sampled=_token(token, value),
                alternatives=tuple(_token(*pair) for pair in (top or {}).items()),
            )
            for token, value, top in zip(tokens, values, tops, strict=True)
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise broken(f"logprobs that cannot be read ({error}): {logprobs!r:.120}") from error


def read_choice_logprobs(place: Place | None, choices: Sequence[str]) -> tuple[tuple[float, ...], float]:
    """The log-prob of each choice, and the mass of all, from the alternatives for the first token of the reply.

    A choice that is not among them has a first token that is not either, so it is at most as likely as the last of
    them: that bound stands for it, and the mass does not count it. What is read is P(the reply begins with the choice).

    Raises:
        GenerationError: BAD_REQUEST when a choice is more than one token of this model, LOW_MASS when the model wants
            to say none of them.
    """
    if place is None:
        raise GenerationError(FailureKind.ENGINE_ERROR, "the server returned no log-probs; choices are read off them")
    seen: dict[str, float] = {}
    for token in place.alternatives or (place.sampled,):
        seen[token.text] = _log_sum(seen.get(token.text), token.logprob)
    listed = sorted(seen, key=lambda text: -seen[text])
    for choice in choices:
        begun = [text for text in listed if text and choice.startswith(text)]
        if choice not in seen and begun:
            detail = f"choice {choice!r} is not one token of this model, which begins it with {begun[0]!r}; "
            raise GenerationError(FailureKind.BAD_REQUEST, detail + "use labels of one token, or the embedded engine")
    if not any(choice in seen for choice in choices):
        detail = f"none of {list(choices)!r} is among the likeliest tokens: {listed[:8]!r}, ..."
        raise GenerationError(FailureKind.LOW_MASS, detail)
    bound = min(seen.values())
    mass = math.fsum(math.exp(seen[choice]) for choice in set(choices) if choice in seen)
    return tuple(seen.get(choice, bound) for choice in choices), mass


def _log_sum(one: float | None, other: float) -> float:
    """ln(e^one + e^other)."""
    if one is None:
        return other
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))


def _token(text: Any, logprob: Any) -> TokenLogprob:
    """A token; servers that are told to write ids instead of texts write ``token_id:123``."""
    if not isinstance(text, str):
        raise TypeError(f"a token is a text, not {text!r:.40}")
    number = text.removeprefix(_ID_PREFIX)
    known = text.startswith(_ID_PREFIX) and number.isdecimal()
    return TokenLogprob(
        token_id=int(number) if known else -1, text="" if known else text, logprob=max(float(logprob), LOWEST)
    )
