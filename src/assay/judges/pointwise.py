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
from .reply import read_reply
from .request import ask
from .scores import Mode, parse_scores
from .shield import Language, block, conversation_block
from .template import conversation, fill, load_prompt, need_candidates, reference_section, shown_reference

_FILES = ("multi", "single", "binary", "criteria", "reference")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PointwiseJudge:
    """Scores n candidates from 1 to 10, or (``mode`` "0-1") a single one 0 or 1.

    ``reference``: show the item's reference, where it has one.
    """

    mode: Mode = "1-10"
    reference: bool = True
    lenient: bool = False
    language: Language = "en"
    prompts: Mapping[str, str] = field(init=False, repr=False, hash=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="pointwise", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=False, init=False)
    reduce: Reduce = field(default="sum", init=False)

    def __post_init__(self) -> None:
        prompts = {name: load_prompt(f"pointwise.{name}", self.language) for name in _FILES}
        asked: list[Json] = [*prompts.values(), self.mode, self.reference]
        names = identify(self.name, asked=asked, read=[self.lenient])
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def scale(self) -> tuple[float, float] | None:
        return (0.0, 1.0) if self.mode == "0-1" else (1.0, 10.0)

    def content(self, item: Item) -> Mapping[str, Json]:
        self._check(item)
        return {
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
                "conversation": conversation_block(conversation(item), language=self.language),
                "reference": reference_section(
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
