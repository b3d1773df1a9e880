r"""``rubric``: a score for every criterion, and their weighted mean; one candidate at a time.

The criteria are put to the judge in batches, a request each, and come back as one ``\boxed{}`` in their order. The mean
stands on the criteria's common scale; criteria of different scales are put on 0 to 1 first. ``Verdict.breakdown`` has
every criterion's score on its own scale.

A criterion that could not be read is not a 0: the verdict fails and names it. With ``partial`` it is the mean of the
others, their weights among themselves, flagged ``partial``, as long as there is one.

Owns: its prompt, the mean. Does not own: the criteria and their checks (``rubric_spec``); how a box is read (``box``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.errors import InputError
from assay.core.types import Completion, Draw, Failure, FailureKind, Item, Json, Outcome, Reduce, Request, Verdict

from .box import Parts, read_box
from .identity import identify
from .notation import number
from .reply import read_reply, spoken
from .request import ask_each
from .rubric_spec import Criterion, general_criteria, named_twice
from .shield import Language, block, conversation_block
from .template import conversation, fill, load_prompt, need_candidates, reference_parts, shown_reference

_RANGE: Mapping[Language, str] = {"en": "from {0:g} to {1:g}", "zh": "{0:g} 到 {1:g} 分"}
_UNIT = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricJudge:
    """Scores one candidate by ``criteria``; without any, by the general ones (see ``rubric_spec``)."""

    name: str = "rubric"
    criteria: tuple[Criterion, ...] = ()
    batch: int | None = None
    partial: bool = False
    lenient: bool = False
    reference: bool = True
    language: Language = "en"
    prompts: Mapping[str, str] = field(init=False, repr=False, hash=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    rule: bool = field(default=False, init=False)
    per_candidate: bool = field(default=True, init=False)
    reduce: Reduce = field(default="mean", init=False)

    def __post_init__(self) -> None:
        criteria = self.criteria or general_criteria(self.language)
        if named_twice(criteria) is not None:
            raise InputError(f"criteria: two are called {named_twice(criteria)!r}; give each a name of its own")
        prompts = {
            "ask": load_prompt("rubric", self.language),
            "reference": load_prompt("pointwise.reference", self.language),
        }
        said: list[Json] = [[c.name, c.text, *c.scale] for c in criteria]
        weights: list[Json] = [criterion.weight for criterion in criteria]
        asked: list[Json] = [*prompts.values(), said, self.batch, self.reference]
        names = identify(self.name, asked=asked, read=[weights, self.partial, self.lenient])
        object.__setattr__(self, "criteria", criteria)
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def scale(self) -> tuple[float, float]:
        """The criteria's own where they share one, else 0 to 1."""
        first = self.criteria[0].scale
        return first if all(criterion.scale == first for criterion in self.criteria) else _UNIT

    @property
    def batches(self) -> tuple[tuple[Criterion, ...], ...]:
        """The criteria as they are put to the judge, those of one request together."""
        size = self.batch or len(self.criteria)
        return tuple(self.criteria[start : start + size] for start in range(0, len(self.criteria), size))

    def content(self, item: Item) -> Mapping[str, Json]:
        need_candidates(item, judge=self.name, exactly=1)
        return {
            "conversation": [[role, text] for role, text in conversation(item)],
            "reference": shown_reference(item, wanted=self.reference),
            "candidate": item.candidates[0].text,
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        reference = shown_reference(item, wanted=self.reference)
        values = {
            "conversation": conversation_block(conversation(item), language=self.language),
            **reference_parts(self.prompts["reference"], reference, self.language),
            "candidates": block("response", item.candidates[0].text, language=self.language),
        }
        return ask_each(draw, [fill(self.prompts["ask"], {**values, **self._asked(batch)}) for batch in self.batches])

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:  # noqa: ARG002
        if len(completions) != len(self.batches):
            detail = f"expected {len(self.batches)} completions, the engine returned {len(completions)}"
            return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)
        outcomes = [self._read_batch(batch, said) for batch, said in zip(self.batches, completions, strict=True)]
        scores: dict[str, float | None] = {criterion.name: None for criterion in self.criteria}
        for outcome in outcomes:
            if isinstance(outcome, Verdict):
                scores |= outcome.breakdown[0]
        text = "\n\n".join(outcome.text for outcome in outcomes)
        flags = [flag for outcome in outcomes if isinstance(outcome, Verdict) for flag in outcome.flags]
        failed = [name for name, score in scores.items() if score is None]
        if failed and not (self.partial and len(failed) < len(scores)):
            return self._failure(failed, outcomes, text)
        return Verdict(
            scores=(self._mean(scores),),
            flags=tuple(dict.fromkeys([*flags, "partial"] if failed else flags)),
            text=text,
            breakdown=(scores,),
        )

    def _asked(self, batch: Sequence[Criterion]) -> dict[str, str]:
        """The criteria of one request, and how many there are."""
        range_ = _RANGE[self.language]
        lines = [
            f"{place}. {criterion.name} ({range_.format(*criterion.scale)}): {criterion.text.strip()}"
            for place, criterion in enumerate(batch, 1)
        ]
        return {"criteria": "\n".join(lines), "count": str(len(batch))}

    def _read_batch(self, batch: Sequence[Criterion], completion: Completion) -> Outcome:
        return read_reply((completion,), lambda text: self._parse(text, batch), has_end=True)

    def _parse(self, text: str, batch: Sequence[Criterion]) -> Outcome:
        """A verdict whose breakdown has the scores of the batch, None for what is no score of its criterion."""
        said = spoken(text)
        if isinstance(said, Failure):
            return said
        outcome = _scored(text, said, batch, lenient=False)
        if self.lenient and (isinstance(outcome, Failure) or None in outcome.breakdown[0].values()):
            loose = _scored(text, said, batch, lenient=True)
            return outcome if isinstance(loose, Failure) else loose
        return outcome

    def _mean(self, scores: Mapping[str, float | None]) -> float:
        low, high = self.scale
        valid = [(c, score) for c in self.criteria if (score := scores[c.name]) is not None]
        total = math.fsum(c.weight * self._common(score, c) for c, score in valid)
        mean = total / math.fsum(c.weight for c, _ in valid)
        return min(max(mean, low), high)  # rounding alone could leave the scale

    def _common(self, score: float, criterion: Criterion) -> float:
        """A criterion's score on the scale of the verdict."""
        low, high = criterion.scale
        return score if criterion.scale == self.scale else (score - low) / (high - low)

    def _failure(self, failed: Sequence[str], outcomes: Sequence[Outcome], text: str) -> Failure:
        """The failure that names the criteria without a score, with the reason of the first one that has a reason."""
        broken = next((outcome for outcome in outcomes if isinstance(outcome, Failure)), None)
        named = ", ".join(map(repr, failed))
        if broken is not None:
            return Failure(kind=broken.kind, detail=f"no score for {named}: {broken.detail}", text=text)
        why = "what stands in the box is no number on the scale"
        return Failure(kind=FailureKind.PARSE_ERROR, detail=f"no score for {named}: {why}", text=text)


def _scored(text: str, said: str, batch: Sequence[Criterion], *, lenient: bool) -> Verdict | Failure:
    box = read_box(text, said, len(batch), lenient=lenient, of="criteria", labelled=False)
    if not isinstance(box, Parts):
        return box
    values = {criterion.name: _on_scale(part, criterion) for criterion, part in zip(batch, box.parts, strict=True)}
    return Verdict(flags=box.flags, text=text, breakdown=(values,))


def _on_scale(part: str, criterion: Criterion) -> float | None:
    """The score that ``part`` is; None for another text, or a number off the criterion's scale. Never clipped."""
    value = number(part)
    low, high = criterion.scale
    return value + 0.0 if value is not None and low <= value <= high else None
