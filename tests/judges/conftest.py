"""Builders that the tests of judges share."""

from collections.abc import Callable

import pytest

from assay.core.types import Candidate, Completion, Draw, FinishReason, Item, Message


@pytest.fixture
def make_item() -> Callable[..., Item]:
    def make(*texts: str, question: str = "What is 6 times 7?", reference: str | None = "42") -> Item:
        messages = (Message(role="user", content=question),)
        candidates = tuple(Candidate(text=text) for text in texts)
        return Item(id="i1", messages=messages, candidates=candidates, reference=reference)

    return make


@pytest.fixture
def make_draw() -> Callable[..., Draw]:
    def make(*order: int, seed: int = 7) -> Draw:
        return Draw(vote=0, seed=seed, order=order or (0,))

    return make


@pytest.fixture
def reply() -> Callable[..., tuple[Completion, ...]]:
    def make(text: str, finish: FinishReason = "stop", **more: object) -> tuple[Completion, ...]:
        return (Completion(request_id="7-0", text=text, finish_reason=finish, **more),)

    return make
