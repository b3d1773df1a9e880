r"""``pairwise``: which of the candidates is the best? Critique, and the index of the best one in ``\boxed{}``.

The LLM-as-a-Judge of DeepSeek-GRM, which knows no tie, for two candidates or more. ``both_orders`` (two candidates)
asks twice, the second time with the candidates the other way round, and allows a tie; only a winner in both orders is
one. Owns: its prompts, and what two answers come to. Does not own: how an index is read (``index``).

Two equal candidates are shown as they are: one order names either of them, both orders find no winner, as they should.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Failure, Item, Json, Outcome, Reduce, Request, Verdict

from .identity import identify
from .index import Named, parse_index
from .reply import read_reply
from .request import ask_each
from .shield import Language, block, conversation_block
from .template import conversation, fill, load_prompt, need_candidates, reference_parts, shown_reference

_FILES = ("pairwise.best", "pairwise.tie", "pairwise.criteria", "pointwise.reference")

TIE_SCORES = (0.5, 0.5)
"""A tie as scores: each candidate has half of the vote (``voting.reducers.ballot``)."""


class PairwiseConfig(Config):
    """Options of the pairwise judge."""

    both_orders: bool = False
    """Ask about two candidates in both orders, and let the judge call a tie."""
    lenient: bool = False
    """Forgive how a verdict is written (``Response 2``, full-width digits, ...); such verdicts are flagged."""
    reference: bool = True
    """Show the item's reference, where the item has one."""
    language: Language = "en"
    """The language of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseJudge:
    """Names the best of n >= 2 candidates (``Verdict.choice``), or, with ``both_orders``, of two.

    With ``both_orders`` a verdict without a winner has no choice and the scores (0.5, 0.5). It is flagged ``tie`` where
    both answers say so, and ``inconsistent`` where the two differ.
    """

    both_orders: bool = False
    lenient: bool = False
    reference: bool = True
    language: Language = "en"
    prompts: Mapping[str, str] = field(init=False, repr=False, hash=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="pairwise", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=False, init=False)
    reduce: Reduce = field(default="majority", init=False)
    scale: tuple[float, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        prompts = {name: load_prompt(name, self.language) for name in _FILES}
        asked: list[Json] = [*prompts.values(), self.both_orders, self.reference]
        names = identify(self.name, asked=asked, read=[self.lenient])
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    def content(self, item: Item) -> Mapping[str, Json]:
        self._check(item)
        return {
            "conversation": [[role, text] for role, text in conversation(item)],
            "reference": shown_reference(item, wanted=self.reference),
            "candidates": [candidate.text for candidate in item.candidates],
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        self._check(item)
        return ask_each(draw, [self._text(item, order) for order in self._orders(draw)])

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        orders = self._orders(draw)
        # Too few or too many completions are told by the reading of the last one.
        shares = [completions[:1], completions[1:]] if self.both_orders else [completions]
        outcomes = [
            self._read_one(item.n, order, share, place if self.both_orders else None)
            for place, (order, share) in enumerate(zip(orders, shares, strict=True), 1)
        ]
        failure = next((outcome for outcome in outcomes if isinstance(outcome, Failure)), None)
        text = "\n\n".join(outcome.text for outcome in outcomes)
        if failure is not None:
            return replace(failure, text=text)
        verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
        flags = tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags))
        choices = {verdict.choice for verdict in verdicts}
        if len(choices) > 1:
            return Verdict(scores=TIE_SCORES, flags=(*flags, "inconsistent"), text=text)
        choice = choices.pop()
        if choice is None:
            return Verdict(scores=TIE_SCORES, flags=(*flags, "tie"), text=text)
        return Verdict(choice=choice, flags=flags, text=text)

    def _read_one(
        self, n: int, order: tuple[int, ...], completions: Sequence[Completion], place: int | None
    ) -> Outcome:
        """The candidate that one answer names, order undone; ``place``: which of the two orders, for the message."""
        outcome = read_reply(completions, lambda text: self._parse(text, n, order), has_end=True)
        if isinstance(outcome, Failure) and place is not None:
            return replace(outcome, detail=f"order {place} of 2: {outcome.detail}")
        return outcome

    def _parse(self, text: str, n: int, order: tuple[int, ...]) -> Outcome:
        named = parse_index(text, n, tie=self.both_orders, lenient=self.lenient)
        if not isinstance(named, Named):
            return named
        return Verdict(choice=None if named.place is None else order[named.place], flags=named.flags, text=text)

    def _orders(self, draw: Draw) -> tuple[tuple[int, ...], ...]:
        return (draw.order, draw.order[::-1]) if self.both_orders else (draw.order,)

    def _text(self, item: Item, order: tuple[int, ...]) -> str:
        candidates = [
            block("response", item.candidates[index].text, index=place, language=self.language)
            for place, index in enumerate(order, 1)
        ]
        reference = shown_reference(item, wanted=self.reference)
        values = {
            "criteria": self.prompts["pairwise.criteria"],
            "conversation": conversation_block(conversation(item), language=self.language),
            **reference_parts(self.prompts["pointwise.reference"], reference, self.language),
            "candidates": "\n\n".join(candidates),
            "count": str(item.n),
        }
        return fill(self.prompts["pairwise.tie" if self.both_orders else "pairwise.best"], values)

    def _check(self, item: Item) -> None:
        need_candidates(item, judge=self.name)
        if item.n < 2:
            raise InputError(
                f"item {item.id!r} has 1 candidate, and judge {self.name!r} compares: it needs 2 or more; "
                "judge a single one with 'pointwise'"
            )
        if self.both_orders and item.n != 2:
            raise InputError(
                f"item {item.id!r} has {item.n} candidates; judge {self.name!r} with both_orders compares exactly 2, "
                "leave both_orders out"
            )
