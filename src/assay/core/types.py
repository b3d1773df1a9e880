"""The vocabulary of Assay: every other module speaks in these words. Read this file first.

Owns: the frozen records that travel between layers. Does not own: how they are made (``data``), asked (``judges``),
answered (``engines``), joined (``scoring``) or sent over HTTP (``wire``).

One judgment, in types:
``Item`` -> judge.plan -> ``Request``s -> engine -> ``Completion``s -> judge.read -> ``Verdict | Failure``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Content: TypeAlias = "str | tuple[Mapping[str, Any], ...]"
"""Text, or OpenAI-style content parts (text, image_url) that pass through to an engine that takes them."""

FinishReason = Literal["stop", "length", "abort"]
Reduce = Literal["sum", "mean", "majority", "median"]
"""How the verdicts of several votes become one (``voting.reducers``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation, in the OpenAI roles."""

    role: str
    content: Content

    @property
    def text(self) -> str:
        """The text of the turn; content parts that are not text are left out."""
        if isinstance(self.content, str):
            return self.content
        return "".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One answer to judge."""

    text: str
    author: str | None = None
    """The model that wrote it, where known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What is judged: a conversation and the candidate answers to its last turn.

    ``gold`` holds the ground-truth reward of each candidate (r_i of DeepSeek-GRM eq. 10), so that a best-of-n item,
    a preference pair (1, 0) and a single labelled answer have one form. ``reference`` is the standard answer.
    """

    id: str
    messages: tuple[Message, ...]
    candidates: tuple[Candidate, ...]
    reference: str | None = None
    gold: tuple[float, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def n(self) -> int:
        return len(self.candidates)

    @property
    def question(self) -> str:
        """The text of the last user turn (the query that the candidates answer); empty where there is none."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    def only(self, index: int) -> Item:
        """The item with one of its candidates, for judges that look at each candidate on its own."""
        return self.picked((index,))

    def picked(self, places: Sequence[int]) -> Item:
        """The item with these of its candidates, in this order."""
        gold = None if self.gold is None else tuple(self.gold[place] for place in places)
        return replace(self, candidates=tuple(self.candidates[place] for place in places), gold=gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to sample; ``None`` means "not said here". Merge with ``over`` and end with ``DEFAULT_SAMPLING``."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_new_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    logprobs: int | None = None
    """How many top log-probs to return at each place; 0 returns only those of the sampled tokens."""
    chat_template_kwargs: Mapping[str, Any] | None = None
    regex: str | None = None
    """Constrains the whole reply; at most one of ``regex`` and ``json_schema``."""
    json_schema: Mapping[str, Any] | None = None

    def over(self, base: SamplingParams) -> SamplingParams:
        """These parameters, with what is not said here taken from ``base``, key by key (contracts, section 1)."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        if "regex" in said or "json_schema" in said:
            base = replace(base, regex=None, json_schema=None)
        return replace(base, **said)


DEFAULT_SAMPLING = SamplingParams(temperature=0.1, top_p=1.0, top_k=-1, max_new_tokens=4096)
"""The serving defaults of the seeds (``--genrm-sampling-config``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A conversation, to be rendered by the engine's own chat template."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """Token ids as they are, with no template: what RL rollouts resume from."""

    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePrompt:
    """A question that a rule answers, not a model: ``rule`` names it, ``arguments`` are its JSON arguments."""

    rule: str
    arguments: Mapping[str, Json]


Prompt: TypeAlias = "ChatPrompt | TokenPrompt | RulePrompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A rule that is asked before a model: where it answers ``answer``, the model's reply is taken to be ``reply``."""

    rule: RulePrompt
    answer: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of an engine: ``n`` samples of one prompt, or (``choices``) the log-probs of a fixed list of replies.

    ``first``: what a rule may answer instead of the model. Whoever asks the engine sees to it (``engines.rule_first``);
    an engine by itself knows no rules.
    """

    id: str
    prompt: Prompt
    sampling: SamplingParams = SamplingParams()
    n: int = 1
    choices: tuple[str, ...] | None = None
    first: Shortcut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """An alternative that the engine saw at one place."""

    token_id: int
    text: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What an engine answered to one sample of a request.

    ``logprobs``: natural log, one per entry of ``token_ids``, of the distribution at temperature 1 before top-p/top-k.
    ``choice_logprobs``: with ``Request.choices``, ln P(whole reply | prompt), one per choice; ``mass`` is the sum of
    their probabilities (a low one means that the model wanted to say something else, so the choice says nothing).
    """

    request_id: str
    text: str
    index: int = 0
    finish_reason: FinishReason = "stop"
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] | None = None
    top_logprobs: tuple[tuple[TokenLogprob, ...], ...] | None = None
    choice_logprobs: tuple[float, ...] | None = None
    mass: float | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """How many of ``prompt_tokens`` were not computed anew, because a prefix was shared."""
    completion_tokens: int = 0
    """Tokens generated, also where the engine hands out no ids."""
    seed: int | None = None
    model: str = ""
    weight_version: str = ""


class FailureKind(StrEnum):
    """Every way in which a judgment can fail (contracts, section 5). None of them is a score."""

    PARSE_ERROR = "parse_error"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    CONTEXT_OVERFLOW = "context_overflow"
    ENGINE_ERROR = "engine_error"
    ASLEEP = "asleep"
    CANCELLED = "cancelled"
    LOW_MASS = "low_mass"
    TOO_FEW_VOTES = "too_few_votes"
    META_ERROR = "meta_error"
    BAD_REQUEST = "bad_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a judgment cost. ``calls`` counts requests that reached an engine."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge decided: one finite score per candidate, in the item's own order, or the index of the best one."""

    scores: tuple[float, ...] | None = None
    choice: int | None = None
    flags: tuple[str, ...] = ()
    """What a careful reader should know: ``clipped``, ``multiple_boxes``, ``lenient``, ..."""
    text: str = ""
    """The judge's whole raw text (of several requests, joined by a blank line)."""
    mass: float | None = None
    breakdown: tuple[Mapping[str, float | None], ...] = ()
    """Scores by criterion, one mapping per candidate, for judges that have criteria; None = the criterion failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no verdict. Never turned into a number unless a rule that the user named says so."""

    kind: FailureKind
    detail: str
    text: str = ""
    """The judge's raw text, where there was one."""
    retry_after: float | None = None
    """Seconds after which the engine asks to be tried again, where it said so."""


Outcome: TypeAlias = "Verdict | Failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The randomness of one vote, decided outside the judge: which vote, its seed, and the order of the candidates.

    ``order[place]`` is the index (in the item) of the candidate shown at that place.
    """

    vote: int
    seed: int
    order: tuple[int, ...]

    def undo(self, shown: tuple[float, ...]) -> tuple[float, ...]:
        """Scores given in the shown order, put back into the item's own order."""
        scores = [0.0] * len(self.order)
        for place, index in enumerate(self.order):
            scores[index] = shown[place]
        return tuple(scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One draw, what the engine said to it, and what the judge read: the unit of recording, caching and replaying.

    ``candidate``: which candidate of the item was judged, for judges that look at one at a time; None = all together.
    ``prompt``: what was asked, as text. ``model`` and ``weight_version`` are those that the completions carry.
    """

    draw: Draw
    outcome: Outcome
    candidate: int | None = None
    content_hash: str = ""
    prompt: str = ""
    completions: tuple[Completion, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    """Answered by the verdict cache, or by joining an equal call in flight."""
    reasks: int = 0
    latency_s: float = 0.0
    model: str = ""
    weight_version: str = ""
    meta: float | None = None
    """The meta RM's logit for this vote; None where none was asked, or where it failed."""
    meta_failure: Failure | None = None
    kept: bool = True
    """Whether the vote had a part in the decision: it held a verdict, and the meta RM did not sort it out."""
