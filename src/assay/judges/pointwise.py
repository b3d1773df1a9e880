r"""``pointwise``: principles, critique, and a score for every candidate in one ``\boxed{}`` (DeepSeek-GRM).

All candidates are shown together, in the order of the draw; an empty one as an empty block. A single candidate may be
scored 0 or 1 instead of 1 to 10. Owns: its prompts. Does not own: how a box is read (``scores``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Item, Json, Outcome, Reduce, Request, Verdict

from .identity import identify
from .principles import (
    KEY,
    Principles,
    check_principles,
    from_principles,
    show_principles,
    stored_principles,
)
from .reply import read_reply
from .request import ask
from .scores import Mode, parse_scores
from .shield import Language, block, conversation_block
from .template import conversation, fill, load_prompt, need_candidates, reference_parts, shown_reference

_FILES = ("multi", "single", "binary", "criteria", "reference")
_GIVEN = ("given.multi", "given.single", "given.binary", "criteria", "reference")
"""The same where the principles are given."""


class PointwiseConfig(Config):
    """Options of the pointwise judge."""

    lenient: bool = False
    """Forgive how a verdict is written (bold, full-width digits, ...); such verdicts are flagged."""
    mode: Mode = "1-10"
    """The scale; ``0-1`` judges a single candidate."""
    reference: bool = True
    """Show the item's reference, where the item has one."""
    language: Language = "en"
    """The language of the prompt."""
    principles: Principles = ()
    """Principles to judge by, with weights or without, instead of those that the judge writes itself."""
    stored: bool = False
    """Judge by the principles that each item carries in its metadata, as ``principles``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointwiseJudge:
    """Scores n candidates from 1 to 10, or (``mode`` "0-1") a single one 0 or 1.

    ``reference``: show the item's reference, where it has one. ``principles``: judge by these, ``stored``: by those in
    the item's metadata, instead of asking the judge for some.
    """

    mode: Mode = "1-10"
    reference: bool = True
    lenient: bool = False
    language: Language = "en"
    principles: Principles = ()
    stored: bool = False
    prompts: Mapping[str, str] = field(init=False, repr=False, hash=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="pointwise", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=False, init=False)
    reduce: Reduce = field(default="sum", init=False)

    def __post_init__(self) -> None:
        problem = check_principles(self.principles) if self.principles else None
        if self.principles and self.stored:
            problem = "either give them, or take those stored with the items"
        if problem is not None:
            raise InputError(f"principles: {problem}")
        given = bool(self.principles) or self.stored
        prompts = {
            name.removeprefix("given."): load_prompt(f"pointwise.{name}", self.language)
            for name in (_GIVEN if given else _FILES)
        }
        asked: list[Json] = [*prompts.values(), self.mode, self.reference]
        if given:
            asked += [from_principles(self.principles), self.stored]
        names = identify(self.name, asked=asked, read=[self.lenient])
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def scale(self) -> tuple[float, float] | None:
        return (0.0, 1.0) if self.mode == "0-1" else (1.0, 10.0)

    def content(self, item: Item) -> Mapping[str, Json]:
        self._check(item)
        stored = {KEY: from_principles(stored_principles(item, judge=self.name))} if self.stored else {}
        return {
            **stored,
            "conversation": [[role, text] for role, text in conversation(item)],
            "reference": shown_reference(item, wanted=self.reference),
            "candidates": [candidate.text for candidate in item.candidates],
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        self._check(item)
        text = fill(
            self.prompts[self._form(item)],
            {
                "criteria": self.prompts["criteria"],
                "principles": show_principles(self._principles(item)),
                "conversation": conversation_block(conversation(item), language=self.language),
                **reference_parts(
                    self.prompts["reference"], shown_reference(item, wanted=self.reference), self.language
                ),
                "candidates": self._candidates(item, draw),
                "count": str(item.n),
            },
        )
        return ask(draw, text)

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        outcome = read_reply(
            completions,
            lambda text: parse_scores(text, item.n, mode=self.mode, lenient=self.lenient),
            has_end=True,
        )
        if isinstance(outcome, Verdict) and outcome.scores is not None:
            return replace(outcome, scores=draw.undo(outcome.scores))
        return outcome

    def _check(self, item: Item) -> None:
        need_candidates(item, judge=self.name)
        if self.mode == "0-1" and item.n != 1:
            raise InputError(
                f"item {item.id!r} has {item.n} candidates; mode '0-1' judges exactly one, use mode '1-10'"
            )

    def _principles(self, item: Item) -> Principles:
        return stored_principles(item, judge=self.name) if self.stored else self.principles

    def _form(self, item: Item) -> str:
        if self.mode == "0-1":
            return "binary"
        return "single" if item.n == 1 else "multi"

    def _candidates(self, item: Item, draw: Draw) -> str:
        single = self.mode == "0-1"
        return "\n\n".join(
            block("response", item.candidates[index].text, index=None if single else place, language=self.language)
            for place, index in enumerate(draw.order, 1)
        )
