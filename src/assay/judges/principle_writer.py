"""Principles for one prompt, written before any response is seen: planned and read like a judgment, without a score.

The verdict of a text that holds principles is that text; who stores them reads them out of it (``principle_text``).
Owns: its prompt. Does not own: where they are kept and how judges get them (``data.principles``, ``principles``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.types import Completion, Draw, Failure, Item, Json, Outcome, Reduce, Request, Verdict

from .identity import identify
from .principle_text import parse_principles
from .reply import read_reply
from .request import ask
from .shield import Language, conversation_block
from .template import conversation, fill, load_prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipleWriter:
    """Has the shape of a judge (``judges.base``), so that whatever runs judges runs it, with one candidate or more.

    It looks at the conversation alone: candidates, reference and gold change nothing.
    """

    language: Language = "en"
    prompt: str = field(init=False, repr=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="principles", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=False, init=False)
    reduce: Reduce = field(default="mean", init=False)
    scale: tuple[float, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        prompt = load_prompt("principles", self.language)
        names = identify(self.name, asked=[prompt])
        object.__setattr__(self, "prompt", prompt)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    def content(self, item: Item) -> Mapping[str, Json]:
        return {"conversation": [[role, text] for role, text in conversation(item)]}

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        shown = conversation_block(conversation(item), language=self.language)
        return ask(draw, fill(self.prompt, {"conversation": shown}))

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:  # noqa: ARG002
        return read_reply(completions, _read, has_end=False)


def _read(text: str) -> Outcome:
    found = parse_principles(text)
    return found if isinstance(found, Failure) else Verdict(text=text)
