"""A judge that is told the right verdict in the last line of its input: hinted sampling (DeepSeek-GRM, section 3).

The line names the best response by the number under which it is shown. Of a single response, about which the paper says
nothing, it names the right score. Owns: the line. Does not own: the judge's prompt and how its reply is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import ChatPrompt, Completion, Draw, Item, Json, Outcome, Reduce, Request
from assay.judges.base import Judge
from assay.judges.shield import Language, shield
from assay.voting.correct import gold_best

from .plan import STRENGTH

_BEST: Mapping[Language, str] = {
    "en": "Known beforehand: the best response is response {place}{strength}.",
    "zh": "已知：最好的回答是回答{place}{strength}。",
}
_SCORE: Mapping[Language, str] = {
    "en": "Known beforehand: the right score is {score}.",
    "zh": "已知：正确的分数是{score}。",
}
_STRENGTH: Mapping[Language, str] = {"en": " (strength of the preference: {said})", "zh": "（偏好强度：{said}）"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HintedJudge:
    """``base`` with a hint. ``strength``: the hint tells how much better the best one is, where the item says it."""

    base: Judge
    language: Language = "en"
    strength: bool = False
    asks: str = field(init=False)
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        lines = [_BEST[self.language], _SCORE[self.language], _STRENGTH[self.language] if self.strength else ""]
        told = digest(lines)[:12]
        object.__setattr__(self, "asks", f"{self.base.asks}-hint-{told}")
        object.__setattr__(self, "identity", f"{self.base.identity}-hint-{told}")

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def rule(self) -> bool:
        return self.base.rule

    @property
    def per_candidate(self) -> bool:
        return self.base.per_candidate

    @property
    def reduce(self) -> Reduce:
        return self.base.reduce

    @property
    def scale(self) -> tuple[float, float] | None:
        return self.base.scale

    def content(self, item: Item) -> Mapping[str, Json]:
        gold = _gold(item)
        told = gold[0] if item.n == 1 else gold_best(gold)
        return {"asked": dict(self.base.content(item)), "hint": told, "strength": self._strength(item)}

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        return tuple(_ending(request, self.line(item, draw)) for request in self.base.plan(item, draw))

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        return self.base.read(item, draw, completions)

    def line(self, item: Item, draw: Draw) -> str:
        """The hint for candidates that are shown in the order of the draw.

        Raises:
            InputError: the item has no gold, or several best candidates.
        """
        gold = _gold(item)
        if item.n == 1:
            return _SCORE[self.language].format(score=f"{gold[0]:g}")
        best = gold_best(gold)
        if best is None:
            raise InputError(f"item {item.id!r}: gold {gold} has no single best candidate that a hint could name")
        said = self._strength(item)
        strength = "" if said is None else _STRENGTH[self.language].format(said=said)
        return _BEST[self.language].format(place=draw.order.index(best) + 1, strength=strength)

    def _strength(self, item: Item) -> str | None:
        said = item.metadata.get(STRENGTH) if self.strength and item.n > 1 else None
        if said is None:
            return None
        # One line, whatever it holds: the hint is the last one of the input.
        return shield(" ".join((f"{said:g}" if isinstance(said, float) else str(said)).split()))


def _gold(item: Item) -> tuple[float, ...]:
    if item.gold is None:
        raise InputError(f"item {item.id!r} has no gold, so there is nothing that a hint could tell")
    return item.gold


def _ending(request: Request, line: str) -> Request:
    if not isinstance(request.prompt, ChatPrompt):
        raise InputError(f"a hint goes to a judge that reads text, not to {type(request.prompt).__name__}")
    *before, last = request.prompt.messages
    return replace(request, prompt=ChatPrompt(messages=(*before, replace(last, content=f"{last.text}\n\n{line}"))))
