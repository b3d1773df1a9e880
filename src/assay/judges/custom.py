"""A user's own judge, out of a TOML file: a prompt, and how to read the reply.

    name = "polite"
    prompt = '''Is this reply polite? Answer yes or no.

    {candidates}'''
    parser = "label"
    [labels]
    yes = 1
    no = 0

Owns: the judge made of a ``JudgeSpec``. Does not own: the file and its checks (``spec``).

``{candidates}`` and ``{conversation}`` are put in as blocks with markers; ``{question}``, ``{reference}`` and
``{answer}`` as bare text, for prompts that a judge was trained on. All of them are shielded (``shield``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.core.types import Completion, Draw, Item, Json, Outcome, Reduce, Request, Verdict

from .choices import read_choice
from .extract import final_answer
from .identity import identify
from .reply import read_reply
from .request import ask
from .scores import parse_label, parse_number, parse_scores
from .shield import block, conversation_block, shield
from .spec import JudgeSpec
from .template import conversation, fill, need_candidates, need_question, need_reference, placeholders

_ASKED = ("system", "answer", "choices", "per_candidate")
"""The keys of a spec that shape the requests, beside the prompt; the others shape the reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomJudge:
    """The judge that ``spec`` describes; ``prompt`` is its prompt text, whose placeholders are known and complete."""

    spec: JudgeSpec
    prompt: str
    shows: tuple[str, ...] = field(init=False)
    asks: str = field(init=False)
    identity: str = field(init=False)

    rule: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        described = self.spec.model_dump(mode="json", exclude={"prompt", "prompt_file"})
        shown: Json = {key: described[key] for key in _ASKED}
        labels: list[Json] = list(self.spec.labels) if self.spec.choices else []
        names = identify(self.spec.name, asked=[self.prompt, shown, labels], read=[described, list(self.spec.labels)])
        object.__setattr__(self, "shows", placeholders(self.prompt))
        object.__setattr__(self, "asks", names.asks)
        object.__setattr__(self, "identity", names.identity)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def per_candidate(self) -> bool:
        return self.spec.one_at_a_time

    @property
    def reduce(self) -> Reduce:
        return "sum" if self.spec.parser == "scores" and self.spec.mode == "1-10" else "mean"

    @property
    def scale(self) -> tuple[float, float] | None:
        if self.spec.parser == "label":
            return min(self.spec.labels.values()), max(self.spec.labels.values())
        if self.spec.parser == "number":
            return self.spec.range
        return (0.0, 1.0) if self.spec.mode == "0-1" else (1.0, 10.0)

    def content(self, item: Item) -> Mapping[str, Json]:
        need_candidates(item, judge=self.name, exactly=1 if self.per_candidate else None)
        content: dict[str, Json] = {}
        for name in self.shows:
            match name:
                case "question":
                    content[name] = need_question(item, judge=self.name)
                case "reference":
                    content[name] = need_reference(item, judge=self.name)
                case "conversation":
                    content[name] = [[role, text] for role, text in conversation(item)]
                case _:
                    content[name] = [self._judged(candidate.text) for candidate in item.candidates]
        return content

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        text = fill(self.prompt, {name: self._shown(name, item, draw) for name in self.shows})
        choices = tuple(self.spec.labels) if self.spec.choices else None
        return ask(draw, text, system=self.spec.system, choices=choices)

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        spec = self.spec
        if spec.choices:
            return read_choice(completions, spec.labels, spec.min_mass)
        has_end = spec.parser == "scores" or spec.lenient
        outcome = read_reply(completions, lambda text: self._parse(text, item.n), has_end=has_end)
        if isinstance(outcome, Verdict) and outcome.scores is not None:
            return replace(outcome, scores=draw.undo(outcome.scores))
        return outcome

    def _parse(self, text: str, n: int) -> Outcome:
        spec = self.spec
        if spec.parser == "scores":
            return parse_scores(text, n, mode=spec.mode, lenient=spec.lenient)
        if spec.range is not None:
            return parse_number(text, *spec.range, lenient=spec.lenient)
        return parse_label(text, spec.labels, lenient=spec.lenient)

    def _judged(self, text: str) -> str:
        return final_answer(text) if self.spec.answer == "final" else text

    def _shown(self, name: str, item: Item, draw: Draw) -> str:
        match name:
            case "question":
                return shield(need_question(item, judge=self.name))
            case "reference":
                return shield(need_reference(item, judge=self.name))
            case "conversation":
                return conversation_block(conversation(item))
            case "answer":
                return shield(self._judged(item.candidates[0].text))
            case _:
                texts = [self._judged(item.candidates[index].text) for index in draw.order]
                return "\n\n".join(block("response", text, index=place) for place, text in enumerate(texts, 1))
