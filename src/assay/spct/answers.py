"""Answers to prompts as they are, sampled like judgments: general data out of the model that is to be trained.

Owns: the shape of a judge around a plain conversation. Does not own: which prompts are answered (``general``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.types import (
    ChatPrompt,
    Completion,
    Draw,
    Failure,
    FailureKind,
    Item,
    Json,
    Outcome,
    Reduce,
    Request,
    SamplingParams,
    Verdict,
)
from assay.judges.identity import identify
from assay.judges.reply import read_reply
from assay.judges.template import conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Has the shape of a judge, so that whatever runs judges runs it. A whole answer is a verdict without a score."""

    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="answer", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=False, init=False)
    reduce: Reduce = field(default="mean", init=False)
    scale: tuple[float, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        names = identify(self.name, asked=["the conversation as it is"])
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    def content(self, item: Item) -> Mapping[str, Json]:
        return {"conversation": [[role, text] for role, text in conversation(item)]}

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        prompt = ChatPrompt(messages=item.messages)
        return (Request(id=f"{draw.seed}-0", prompt=prompt, sampling=SamplingParams(seed=draw.seed)),)

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:  # noqa: ARG002
        return read_reply(completions, _read, has_end=False)


def _read(text: str) -> Outcome:
    if text.strip():
        return Verdict(text=text)
    return Failure(kind=FailureKind.PARSE_ERROR, detail="the answer is empty", text=text)
