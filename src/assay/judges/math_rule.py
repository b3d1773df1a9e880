"""``math``: is the candidate's answer mathematically equal to the reference? Answered by the rule engine, not a model.

Owns: what is compared. Does not own: where the answer stands (``extract``) nor the comparison (the rule engine, which
takes ``RulePrompt(rule="math", arguments={"reference": str, "answer": str})`` and replies ``1`` or ``0``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.config import Config
from assay.core.types import Completion, Draw, Item, Json, Outcome, Reduce, Request, RulePrompt

from .extract import math_answer
from .identity import identify
from .reply import read_reply
from .scores import parse_label
from .template import need_candidates, need_reference

_SCORES = {"1": 1.0, "0": 0.0}


class MathConfig(Config):
    """The rule has no options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MathJudge:
    """Scores one candidate 1 (equal) or 0. Both answers are extracted here, so the engine compares short strings."""

    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="math", init=False)
    rule: bool = field(default=True, init=False)
    per_candidate: bool = field(default=True, init=False)
    reduce: Reduce = field(default="mean", init=False)
    scale: tuple[float, float] | None = field(default=(0.0, 1.0), init=False)

    def __post_init__(self) -> None:
        names = identify(self.name, asked=[])
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    def content(self, item: Item) -> Mapping[str, Json]:
        need_candidates(item, judge=self.name, exactly=1)
        reference = need_reference(item, judge=self.name)
        return {"reference": math_answer(reference), "answer": math_answer(item.candidates[0].text)}

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        return (Request(id=f"{draw.seed}-0", prompt=RulePrompt(rule="math", arguments=self.content(item))),)

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:  # noqa: ARG002
        return read_reply(completions, lambda text: parse_label(text, _SCORES), has_end=True)
