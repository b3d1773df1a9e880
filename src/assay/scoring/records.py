"""From what happened to what is recorded: a row for every vote of a judgment, and one for every raw generation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from assay.core.codec import completions_to_json
from assay.core.seeds import canonical, digest
from assay.core.types import (
    ChatPrompt,
    Completion,
    Failure,
    Item,
    Json,
    Outcome,
    Request,
    RulePrompt,
    SamplingParams,
    Verdict,
    Vote,
)
from assay.data import VERDICT, ResultRow, item_to_row

from .judgment import Judgment


def prompt_text(requests: Sequence[Request]) -> str:
    """What was asked, as text a person can read; several requests are joined by a blank line."""
    return "\n\n".join(_one_prompt(request) for request in requests)


def _one_prompt(request: Request) -> str:
    match request.prompt:
        case ChatPrompt(messages=messages):
            return "\n\n".join(m.text if len(messages) == 1 else f"[{m.role}]\n{m.text}" for m in messages)
        case RulePrompt(rule=rule, arguments=arguments):
            return f"{rule} {canonical(dict(arguments))}"
        case token_prompt:
            return f"token ids {list(token_prompt.token_ids)}"


def vote_rows(judgment: Judgment, *, instance: str = "", base_seed: int = 0) -> list[ResultRow]:
    """The rows of a judgment, one a vote, in the order of the votes."""
    item = item_to_row(judgment.item)
    shared = {
        "item_id": judgment.item.id,
        "instance": instance,
        "judge": judgment.judge,
        "judge_identity": judgment.judge_identity,
        "parameters": judgment.parameters,
        "base_seed": base_seed,
        "sampling": dict(judgment.sampling),
        "voting": dict(judgment.voting),
        "item": item,
        "metadata": dict(judgment.item.metadata),
        "time": time.time(),
    }
    drawn = Counter(vote.candidate for vote in judgment.votes)
    told = {name: decision_json(outcome) for name, outcome in judgment.decisions.items()} if judgment.voting else {}
    return [
        ResultRow(
            **shared,
            **_vote(vote, judgment.item),
            drawn=drawn[vote.candidate],
            decision=told.get(vote.candidate, {}),
        )
        for vote in judgment.votes
    ]


def decision_json(outcome: Outcome) -> dict[str, Json]:
    """What votes came to, as a record says it."""
    if isinstance(outcome, Failure):
        return {"failure": str(outcome.kind), "detail": outcome.detail}
    scores: list[Json] | None = None if outcome.scores is None else [*outcome.scores]
    return {"scores": scores, "choice": outcome.choice, "flags": [*outcome.flags]}


def said(sampling: SamplingParams) -> dict[str, Any]:
    """The parameters that are set, by name."""
    return {name: value for name, value in asdict(sampling).items() if value is not None}


def decided_anew(rows: Sequence[ResultRow], judgment: Judgment) -> list[ResultRow]:
    """The rows of recorded votes with what ``judgment`` makes of them: read, kept and decided anew, all else as it was.

    Args:
        rows: of the votes of the judgment, in their order; those that it has no vote for are left out.
    """
    made = {vote.draw.vote: vote for vote in judgment.votes}
    (outcome,) = judgment.decisions.values()
    decision = decision_json(outcome) if judgment.voting else {}
    return [
        replace(
            row,
            judge=judgment.judge,
            judge_identity=judgment.judge_identity,
            voting=judgment.voting,
            drawn=len(made),
            decision=decision,
            **_said(made[row.vote]),
        )
        for row in rows
        if row.vote in made
    ]


def _said(vote: Vote) -> dict[str, Any]:
    """What the judge said, in the words of a row, and what became of it."""
    outcome = vote.outcome
    verdict = outcome if isinstance(outcome, Verdict) else None
    return {
        "text": outcome.text,
        "outcome": str(outcome.kind) if isinstance(outcome, Failure) else VERDICT,
        "detail": outcome.detail if isinstance(outcome, Failure) else "",
        "flags": () if verdict is None else verdict.flags,
        "scores": None if verdict is None else verdict.scores,
        "choice": None if verdict is None else verdict.choice,
        "mass": None if verdict is None else verdict.mass,
        "breakdown": () if verdict is None else verdict.breakdown,
        "kept": vote.kept,
        "meta": vote.meta,
        "meta_detail": "" if vote.meta_failure is None else f"{vote.meta_failure.kind}: {vote.meta_failure.detail}",
    }


def _vote(vote: Vote, item: Item) -> dict[str, Any]:
    draw = vote.draw
    own = item if vote.candidate is None or item.n == 1 else item.only(vote.candidate)
    return {
        "candidate": vote.candidate,
        "vote": draw.vote,
        "content_hash": vote.content_hash,
        "prompt_hash": digest(vote.prompt),
        "model": vote.model,
        "weight_version": vote.weight_version,
        "seed": draw.seed,
        "order": draw.order,
        "prompt": vote.prompt,
        **_said(vote),
        "gold": own.gold,
        "n": own.n,
        "calls": vote.usage.calls,
        "prompt_tokens": vote.usage.prompt_tokens,
        "cached_tokens": vote.usage.cached_tokens,
        "completion_tokens": vote.usage.completion_tokens,
        "latency_s": vote.latency_s,
        "cached": vote.cached,
        "reasks": vote.reasks,
        "completions": tuple(completions_to_json(vote.completions)),
    }


GENERATIONS = pa.schema(
    [
        ("request_id", pa.string()),
        ("instance", pa.string()),
        ("model", pa.string()),
        ("weight_version", pa.string()),
        ("prompt", pa.string()),
        ("texts", pa.list_(pa.string())),
        ("outcome", pa.string()),
        ("detail", pa.string()),
        ("seed", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("latency_s", pa.float64()),
        ("time", pa.float64()),
    ]
)
"""The columns of raw generations (``/generate``, ``/v1/chat/completions``): no judge, no scores."""


def generation_row(
    *,
    request: Request,
    completions: Sequence[Completion] = (),
    failure: Failure | None = None,
    instance: str,
    latency_s: float,
) -> dict[str, Any]:
    """A raw generation, in the columns of ``GENERATIONS``; ``outcome`` is ``generated`` or a failure kind."""
    first = completions[0] if completions else None
    return {
        "request_id": request.id,
        "instance": instance,
        "model": first.model if first else "",
        "weight_version": first.weight_version if first else "",
        "prompt": prompt_text([request]),
        "texts": [completion.text for completion in completions],
        "outcome": "generated" if failure is None else str(failure.kind),
        "detail": "" if failure is None else failure.detail,
        "seed": request.sampling.seed,
        "prompt_tokens": first.prompt_tokens if first else 0,
        "cached_tokens": first.cached_tokens if first else 0,
        "completion_tokens": sum(completion.completion_tokens for completion in completions),
        "latency_s": latency_s,
        "time": time.time(),
    }
