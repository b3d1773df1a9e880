"""``tokenprob``: how probable the judge finds each label, instead of which one it writes: a soft score.

``single``: one candidate at a time, is it good? P(yes) / (P(yes) + P(no)). ``list``: all candidates together, which is
the best? The probability of each one's number among the numbers. The labels' whole probability is recorded (``mass``);
where it is low the model wanted to say something else, and the judgment is the failure ``low_mass``.

Without ``thinking`` the labels are asked for as choices, at the first token of the reply. With it the model thinks and
answers in one reply, and the labels are read off the alternatives of the token where its answer begins.

Owns: its prompts. Does not own: where that token is (``spot``); what low mass is (``choices``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Failure, FailureKind, Item, Json, Outcome, Reduce, Request, Verdict

from .choices import MinMass, Weighed, enough, weigh
from .identity import identify
from .reply import read_reply, spoken
from .request import ask
from .scores import parse_label
from .shield import Language, block, conversation_block
from .spot import label_place, weigh_place
from .template import conversation, fill, load_prompt, need_candidates, reference_parts, shown_reference

Form: TypeAlias = Literal["single", "list"]

MOST = 9
"""Most candidates of the form ``list``: their numbers are one digit, so that each is one token."""


class TokenProbConfig(Config):
    """Options of the token probability judge."""

    form: Form = "single"
    """``single``: is this candidate good? ``list``: which of the candidates (at most 9) is the best?"""
    thinking: bool = False
    """The judge thinks in a <think> block first; the labels are read where its answer begins."""
    labels: tuple[str, str] = ("Yes", "No")
    """The replies of the form ``single`` for a good and for a bad candidate."""
    min_mass: MinMass = 0.1
    """The least common probability of the labels; below it the verdict is refused."""
    top: Annotated[int, Field(ge=2, le=100)] = 20
    """With ``thinking``: how many likeliest tokens to ask for at each place; 20 is what most servers give at most."""
    reference: bool = True
    """Show the item's reference, where the item has one."""
    language: Language = "en"
    """The language of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbJudge:
    """Scores candidates from 0 to 1 by the probabilities of labels."""

    form: Form = "single"
    thinking: bool = False
    labels: tuple[str, str] = ("Yes", "No")
    min_mass: float = 0.1
    top: int = 20
    reference: bool = True
    language: Language = "en"
    prompts: Mapping[str, str] = field(init=False, repr=False, hash=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    name: str = field(default="tokenprob", init=False)
    rule: bool = field(default=False, init=False)
    reduce: Reduce = field(default="mean", init=False)
    scale: tuple[float, float] | None = field(default=(0.0, 1.0), init=False)

    def __post_init__(self) -> None:
        yes, no = self.labels
        if any(len(label.split()) != 1 for label in self.labels) or yes.startswith(no) or no.startswith(yes):
            raise InputError(f"labels: two words are needed, neither the beginning of the other, got {self.labels!r}")
        prompts = {
            "ask": load_prompt(f"tokenprob.{self.form}", self.language),
            "reference": load_prompt("pointwise.reference", self.language),
        }
        labels = list(self.labels) if self.form == "single" else []
        asked: list[Json] = [*prompts.values(), *labels, self.thinking, self.top if self.thinking else 0]
        names = identify(self.name, asked=[*asked, self.reference], read=[self.min_mass])
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def per_candidate(self) -> bool:
        return self.form == "single"

    def content(self, item: Item) -> Mapping[str, Json]:
        need_candidates(item, judge=self.name, exactly=1 if self.form == "single" else None)
        if self.form == "list" and not 2 <= item.n <= MOST:
            raise InputError(
                f"item {item.id!r} has {item.n} candidates; judge {self.name!r} in the form 'list' compares 2 to "
                f"{MOST}: use the form 'single', or the judge 'pairwise'"
            )
        return {
            "conversation": [[role, text] for role, text in conversation(item)],
            "reference": shown_reference(item, wanted=self.reference),
            "candidates": [candidate.text for candidate in item.candidates],
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        single = self.form == "single"
        candidates = [
            block("response", item.candidates[index].text, index=None if single else place, language=self.language)
            for place, index in enumerate(draw.order, 1)
        ]
        reference = shown_reference(item, wanted=self.reference)
        yes, no = self.labels
        values = {
            "conversation": conversation_block(conversation(item), language=self.language),
            **reference_parts(self.prompts["reference"], reference, self.language),
            "candidates": "\n\n".join(candidates),
            "count": str(item.n),
            "yes": yes,
            "no": no,
        }
        text = fill(self.prompts["ask"], values)
        if not self.thinking:
            return ask(draw, text, choices=self._labels(item.n))
        return tuple(
            replace(request, sampling=replace(request.sampling, logprobs=self.top)) for request in ask(draw, text)
        )

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        labels = self._labels(item.n)
        if not self.thinking:
            weighed = weigh(completions, labels, self.min_mass)
            return weighed if isinstance(weighed, Failure) else self._verdict(weighed, draw, completions[0].text)
        said = read_reply(completions, lambda text: parse_label(text, dict.fromkeys(labels, 0.0)), has_end=False)
        return said if isinstance(said, Failure) else self._spotted(completions[0], labels, draw)

    def _spotted(self, completion: Completion, labels: tuple[str, ...], draw: Draw) -> Outcome:
        """The verdict off the place where the answer, which is one of the labels, begins."""
        label = str(spoken(completion.text))
        place = label_place(completion, label)
        if place is None or completion.top_logprobs is None:
            detail = f"no log-probs of the place where {label!r} stands: the engine has to return the likeliest tokens"
            return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail, text=completion.text)
        weighed, bounded = weigh_place(completion.top_logprobs[place], labels)
        checked = enough(weighed, labels, self.min_mass, completion.text)
        if isinstance(checked, Failure):
            return checked
        return self._verdict(checked, draw, completion.text, ("bounded",) if bounded else ())

    def _verdict(self, weighed: Weighed, draw: Draw, text: str, flags: tuple[str, ...] = ()) -> Verdict:
        shares = weighed.shares
        scores = shares[:1] if self.form == "single" else draw.undo(shares)
        return Verdict(scores=scores, flags=flags, text=text, mass=weighed.mass)

    def _labels(self, n: int) -> tuple[str, ...]:
        return self.labels if self.form == "single" else tuple(str(place) for place in range(1, n + 1))
