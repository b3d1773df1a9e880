"""``verifier``: does the final answer of a candidate match the reference? The judge of DAPO-GenRM.

Looks at the question, the reference and the final answer only, so that candidates which end in the same answer are one
judgment. Owns: its prompt and its two labels. Does not own: where the final answer stands (``extract``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Item, Json, Outcome, Reduce, Request, RulePrompt, Shortcut

from .choices import MinMass, read_choice
from .extract import final_answer, math_answer
from .identity import identify
from .reply import read_reply
from .request import ask
from .scores import parse_label
from .shield import Language, block
from .template import fill, load_prompt, need_candidates, need_question, need_reference

First: TypeAlias = Literal["none", "math"]


class VerifierConfig(Config):
    """Options of the verifier."""

    lenient: bool = False
    """Forgive how a verdict is written (bold, full-width digits, ...); such verdicts are flagged."""
    choices: bool = False
    """Read the log-probs of the labels instead of a text."""
    min_mass: MinMass = 0.1
    """With ``choices``: the least common probability of the labels; below it the verdict is refused."""
    labels: tuple[str, str] = ("1", "0")
    """The replies for a match and for no match."""
    forms: bool = False
    """Have both answers written in one normal form before the verdict, as a closed thought."""
    language: Language = "en"
    """The language of the prompt."""
    first: First = "none"
    """``math``: where this rule finds the answers equal, they match, and the model is asked only for the rest, as for
    any answer with words around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierJudge:
    """Scores one candidate 1 (it matches the reference) or 0.

    ``labels``: the replies for a match and for no match. ``choices``: ask for the log-probs of the two labels instead
    of a text; when both together have less than ``min_mass`` of the probability, the verdict is refused. ``forms``: ask
    for the normal forms of both answers first, as a thought. ``first``: a rule that may say "match" before the model is
    asked; what else it says is for the model to decide.
    """

    labels: tuple[str, str] = ("1", "0")
    choices: bool = False
    min_mass: float = 0.1
    lenient: bool = False
    forms: bool = False
    language: Language = "en"
    first: First = "none"
    prompt: str = field(init=False, repr=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="verifier", init=False)
    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=True, init=False)
    reduce: Reduce = field(default="mean", init=False)
    scale: tuple[float, float] | None = field(default=(0.0, 1.0), init=False)

    def __post_init__(self) -> None:
        yes, no = self.labels
        if yes == no or any(not label or label != label.strip() for label in self.labels):
            raise InputError(
                f"labels: two different words without white space around them are needed, got {self.labels!r}"
            )
        if self.forms and self.choices:
            raise InputError("forms are written before the label, and choices read its probability at once: say one")
        prompt = load_prompt("verifier.forms" if self.forms else "verifier", self.language)
        read: list[Json] = [self.min_mass if self.choices else None, self.lenient]
        asked: list[Json] = [prompt, yes, no, self.choices, *([] if self.first == "none" else [self.first])]
        names = identify(self.name, asked=asked, read=read)
        object.__setattr__(self, "prompt", prompt)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def scores(self) -> Mapping[str, float]:
        """The score of each label."""
        yes, no = self.labels
        return {yes: 1.0, no: 0.0}

    def content(self, item: Item) -> Mapping[str, Json]:
        need_candidates(item, judge=self.name, exactly=1)
        return {
            "question": need_question(item, judge=self.name),
            "reference": need_reference(item, judge=self.name),
            "answer": final_answer(item.candidates[0].text),
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        shown = {
            "question": block("question", need_question(item, judge=self.name), language=self.language),
            "reference": block("reference", need_reference(item, judge=self.name), language=self.language),
            "answer": block("answer", final_answer(item.candidates[0].text), language=self.language),
        }
        yes, no = self.labels
        text = fill(self.prompt, {**shown, "yes": yes, "no": no})
        requests = ask(draw, text, choices=self.labels if self.choices else None)
        if self.first == "none":
            return requests
        rule = RulePrompt(rule=self.first, arguments=self._compared(item))
        return tuple(replace(request, first=Shortcut(rule=rule, answer="1", reply=yes)) for request in requests)

    def _compared(self, item: Item) -> dict[str, Json]:
        """What the rule compares: out of what the verifier is shown, and no answer with words around it."""
        reference, answer = need_reference(item, judge=self.name), final_answer(item.candidates[0].text)
        return {"reference": math_answer(reference), "answer": math_answer(answer), "whole": True}

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:  # noqa: ARG002
        if self.choices:
            return read_choice(completions, self.scores, self.min_mass)
        return read_reply(
            completions, lambda text: parse_label(text, self.scores, lenient=self.lenient), has_end=self.lenient
        )
