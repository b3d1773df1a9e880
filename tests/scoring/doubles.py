"""A judge and an engine made of a few lines, so that scoring is tested apart from real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import (
    Candidate,
    ChatPrompt,
    Completion,
    Draw,
    Failure,
    FailureKind,
    Item,
    Json,
    Message,
    Outcome,
    Reduce,
    Request,
    Verdict,
)
from assay.engines.base import EngineHealth, EngineInfo


@dataclass(frozen=True, slots=True)
class DigitJudge:
    """Shows the candidates in the drawn order; the reply is one digit per candidate shown."""

    per_candidate: bool = False
    name: str = "digit"
    rule: bool = False
    choices: tuple[str, ...] | None = None
    reduce: Reduce = "sum"
    scale: tuple[float, float] | None = (0.0, 9.0)

    @property
    def asks(self) -> str:
        return f"digit-{self.per_candidate}"

    @property
    def identity(self) -> str:
        return f"digit-{self.per_candidate}-read"

    def content(self, item: Item) -> Mapping[str, Json]:
        if item.reference == "":
            raise InputError("reference is empty")
        return {"candidates": [c.text for c in item.candidates]}

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        shown = " ".join(item.candidates[i].text for i in draw.order)
        prompt = ChatPrompt(messages=(Message(role="user", content=shown),))
        return (Request(id=f"{draw.seed}-0", prompt=prompt, choices=self.choices),)

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        text = completions[0].text
        if len(text) != item.n or not text.isdigit():
            return Failure(kind=FailureKind.PARSE_ERROR, detail=f"no digits in {text!r}", text=text)
        return Verdict(scores=draw.undo(tuple(float(c) for c in text)), text=text)


@dataclass(slots=True)
class ScriptEngine:
    """Answers with ``reply(request)``; counts calls; can be slow or raise."""

    reply: Callable[[Request], str]
    latency_s: float = 0.0
    error: Exception | None = None
    calls: list[Request] = field(default_factory=list[Request])
    aborted: int = 0
    weight_version: str = "1"

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(model="script", weight_version=self.weight_version, capabilities=frozenset({"chat"}))

    async def start(self) -> None: ...

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        self.calls.append(request)
        try:
            await asyncio.sleep(self.latency_s)
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        if self.error is not None:
            raise self.error
        text = self.reply(request)
        completion = Completion(
            request_id=request.id,
            text=text,
            prompt_tokens=10,
            completion_tokens=len(text),
            weight_version=self.weight_version,
        )
        return (completion,)

    async def health(self) -> EngineHealth:
        return EngineHealth(healthy=True, state="ready")

    async def close(self) -> None: ...


def item(*candidates: str, id: str = "i", gold: tuple[float, ...] | None = None, reference: str | None = None) -> Item:
    return Item(
        id=id,
        messages=(Message(role="user", content="q"),),
        candidates=tuple(Candidate(text=c) for c in candidates),
        gold=gold,
        reference=reference,
    )


def prompt_of(request: Request) -> str:
    assert isinstance(request.prompt, ChatPrompt)
    return request.prompt.messages[0].text
