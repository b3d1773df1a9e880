"""``POST /score``: an item and a judge by name in, a verdict or a typed failure out. Never a made-up number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from assay.core.codec import completions_to_json
from assay.core.types import (
    Candidate,
    Failure,
    FailureKind,
    Item,
    Json,
    Message,
    Outcome,
    Usage,
    Verdict,
    Vote,
)

from .body import Body, JsonObject, Reply
from .messages import MessageBody, Messages, from_message, to_messages
from .voting import VotingFields

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ItemBody(Body):
    """What is judged: a conversation (or just its question) and the candidate answers to its last turn."""

    id: str | None = None
    """Your own name for it in the record of the judgment."""

    prompt: str | None = None
    """The question, short for one user message."""

    messages: Messages | None = None
    candidates: Annotated[list[str], Field(min_length=1)]
    reference: str | None = None
    """The standard answer, for judges that compare with one."""

    metadata: JsonObject = Field(default_factory=dict[str, Any])
    """Goes into the record of the judgment; a judge of your own may read it."""

    @model_validator(mode="after")
    def _one_question(self) -> ItemBody:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either 'prompt' (text) or 'messages' (a conversation)")
        return self


class ScoreBody(Body, VotingFields):
    """One judgment."""

    judge: str
    """A judge that the service offers, e.g. ``verifier``, ``pointwise``, ``math``."""

    item: ItemBody
    route_key: str | None = None
    """Which instance judges; may be left out where there is one."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Your own seed: another one gives independent draws, the same one the same draws."""

    deadline_s: Seconds | None = None
    """Seconds after which the verdict is of no use any more."""


class UsageReply(Reply):
    """What the judgment cost."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


class VoteReply(Reply):
    """One draw and what came of it: ``scores`` or ``choice``, or the ``failure`` kind with its ``detail``."""

    vote: int
    candidate: int | None = None
    """Which candidate was judged, for judges that look at one at a time."""

    seed: int
    order: list[int]
    """``order[place]``: index of the candidate that was shown at that place."""

    scores: list[float] | None = None
    choice: int | None = None
    failure: FailureKind | None = None
    detail: str | None = None
    flags: list[str] = Field(default_factory=list[str])
    text: str
    """The judge's raw text."""

    mass: float | None = None
    cached: bool
    reasks: int = 0
    """How often it was asked again, because the text held no verdict."""

    kept: bool = True
    """Whether the vote had a part in the decision."""

    meta: float | None = None
    """The meta RM's logit, where the plan has one."""

    meta_failure: FailureKind | None = None
    """Why there is no logit, with its ``meta_detail``."""

    meta_detail: str | None = None

    breakdown: list[dict[str, float | None]] = Field(default_factory=list[dict[str, float | None]])
    """Scores by criterion, one object per candidate; null = that criterion failed."""

    usage: UsageReply
    completions: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """What the engine said: text, finish reason, log-probs of choices; enough to read it again under another parser."""


class VerdictDetail(Reply):
    """One score per candidate in the item's own order, or the index of the best one."""

    scores: list[float] | None = None
    choice: int | None = None
    flags: list[str]
    """What a careful reader should know: ``clipped``, ``lenient``, ..."""

    mass: float | None = None
    """Probability that the judge gave to its labels together, where it was measured."""

    votes: list[VoteReply]
    usage: UsageReply
    judge: str
    """Name and content hash of the judge."""

    model: str
    weight_version: str


class FailureDetail(Reply):
    """Why there is no verdict."""

    kind: FailureKind
    detail: str
    votes: list[VoteReply]
    usage: UsageReply
    judge: str
    model: str
    weight_version: str


class VerdictReply(Reply):
    """The item was judged."""

    verdict: VerdictDetail


class FailureReply(Reply):
    """The judge was asked, and there is no verdict."""

    failure: FailureDetail


ScoreReply = VerdictReply | FailureReply


def to_item(body: ItemBody, name: str) -> Item:
    """The item off the wire; ``name`` is its id where it brings none."""
    messages = (
        (Message(role="user", content=body.prompt),) if body.prompt is not None else to_messages(body.messages or [])
    )
    return Item(
        id=body.id or name,
        messages=messages,
        candidates=tuple([Candidate(text=text) for text in body.candidates]),
        reference=body.reference,
        metadata=body.metadata,
    )


def from_item(item: Item) -> ItemBody:
    """The item for the wire. Its gold labels stay here: a service that judges must not see them."""
    return ItemBody(
        id=item.id,
        messages=[MessageBody.model_validate(from_message(message)) for message in item.messages],
        candidates=[candidate.text for candidate in item.candidates],
        reference=item.reference,
        metadata=dict(item.metadata),
    )


def score_reply(outcome: Outcome, votes: Sequence[Vote], usage: Usage, facts: Mapping[str, Json]) -> dict[str, Json]:
    """The reply's JSON (``VerdictReply`` or ``FailureReply``), built without the cost of a model.

    ``facts``: ``judge``, ``model``, ``weight_version``.
    """
    told: list[Json] = [_vote(vote) for vote in votes]
    common: dict[str, Json] = {"votes": told, "usage": _usage(usage), **facts}
    if isinstance(outcome, Failure):
        return {"failure": {"kind": str(outcome.kind), "detail": outcome.detail, **common}}
    return {"verdict": {**_decision(outcome), "flags": list(outcome.flags), **common}}


def to_outcome(reply: ScoreReply) -> Outcome:
    """What the service decided, in the words of the core; the text is that of the votes, joined by a blank line."""
    if isinstance(reply, FailureReply):
        failure = reply.failure
        return Failure(kind=failure.kind, detail=failure.detail, text=_texts(failure.votes))
    verdict = reply.verdict
    return Verdict(
        scores=None if verdict.scores is None else tuple(verdict.scores),
        choice=verdict.choice,
        flags=tuple(verdict.flags),
        text=_texts(verdict.votes),
        mass=verdict.mass,
        breakdown=tuple(verdict.votes[0].breakdown) if len(verdict.votes) == 1 else (),
    )


def _texts(votes: Sequence[VoteReply]) -> str:
    """The texts of a judgment without voting; of several votes each keeps its own."""
    return "" if any(vote.vote for vote in votes) else "\n\n".join(vote.text for vote in votes)


def _vote(vote: Vote) -> dict[str, Json]:
    outcome = vote.outcome
    said: list[Json] = [*completions_to_json(vote.completions)]
    told: dict[str, Json] = {
        "vote": vote.draw.vote,
        "seed": vote.draw.seed,
        "order": list(vote.draw.order),
        "text": outcome.text,
        "cached": vote.cached,
        "reasks": vote.reasks,
        "usage": _usage(vote.usage),
        "completions": said,
    }
    if vote.candidate is not None:
        told["candidate"] = vote.candidate
    if not vote.kept:
        told["kept"] = False
    if vote.meta is not None:
        told["meta"] = vote.meta
    if vote.meta_failure is not None:
        told |= {"meta_failure": str(vote.meta_failure.kind), "meta_detail": vote.meta_failure.detail}
    if isinstance(outcome, Failure):
        told |= {"failure": str(outcome.kind), "detail": outcome.detail}
    else:
        told |= {**_decision(outcome), "flags": list(outcome.flags)}
    return told


def _decision(verdict: Verdict) -> dict[str, Json]:
    told: dict[str, Json] = {}
    if verdict.scores is not None:
        told["scores"] = list(verdict.scores)
    if verdict.choice is not None:
        told["choice"] = verdict.choice
    if verdict.mass is not None:
        told["mass"] = verdict.mass
    if verdict.breakdown:
        told["breakdown"] = [dict(one) for one in verdict.breakdown]
    return told


def _usage(usage: Usage) -> dict[str, Json]:
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
    }
