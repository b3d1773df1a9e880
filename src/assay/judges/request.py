"""The one shape of request that judges of text make: one user message, where wanted after a system message."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.types import ChatPrompt, Draw, Message, Request, SamplingParams


def ask(
    draw: Draw, text: str, *, system: str | None = None, choices: tuple[str, ...] | None = None
) -> tuple[Request, ...]:
    """One request with the draw's seed; what else to sample with is the business of the instance that answers."""
    user = Message(role="user", content=text)
    messages = (user,) if system is None else (Message(role="system", content=system), user)
    sampling = SamplingParams(seed=draw.seed)
    return (Request(id=f"{draw.seed}-0", prompt=ChatPrompt(messages=messages), sampling=sampling, choices=choices),)


def ask_each(draw: Draw, texts: Sequence[str]) -> tuple[Request, ...]:
    """A request for each text; the first has the draw's seed, the scorer derives the others' from it."""
    return tuple(
        Request(
            id=f"{draw.seed}-{place}",
            prompt=ChatPrompt(messages=(Message(role="user", content=text),)),
            sampling=SamplingParams(seed=draw.seed if place == 0 else None),
        )
        for place, text in enumerate(texts)
    )
