"""The flight recorder's row: one judgment, flat, in the schema that every result file has.

Owns the schema and the way from ``Judgment`` to a row. Reports, exports and replays read these rows and nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, TypedDict

import pyarrow as pa

from assay.core.seeds import canonical, digest
from assay.core.types import ChatPrompt, Completion, Failure, Request, RulePrompt, Verdict

from .judgment import Judgment


class Row(TypedDict):
    """One judgment. ``outcome`` is ``verdict`` or a failure kind; ``scores`` is null unless it is a verdict."""

    item_id: str
    candidate: int | None
    instance: str
    judge: str
    judge_identity: str
    content_hash: str
    prompt_hash: str
    model: str
    weight_version: str
    vote: int
    seed: int | None
    order: list[int]
    prompt: str
    text: str
    outcome: str
    detail: str
    flags: list[str]
    scores: list[float] | None
    choice: int | None
    mass: float | None
    gold: list[float] | None
    n: int
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    latency_s: float
    cached: bool
    reasks: int
    time: float
    metadata: str


SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("candidate", pa.int32()),
        ("instance", pa.string()),
        ("judge", pa.string()),
        ("judge_identity", pa.string()),
        ("content_hash", pa.string()),
        ("prompt_hash", pa.string()),
        ("model", pa.string()),
        ("weight_version", pa.string()),
        ("vote", pa.int32()),
        ("seed", pa.int64()),
        ("order", pa.list_(pa.int32())),
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("outcome", pa.string()),
        ("detail", pa.string()),
        ("flags", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float64())),
        ("choice", pa.int32()),
        ("mass", pa.float64()),
        ("gold", pa.list_(pa.float64())),
        ("n", pa.int32()),
        ("calls", pa.int32()),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("latency_s", pa.float64()),
        ("cached", pa.bool_()),
        ("reasks", pa.int32()),
        ("time", pa.float64()),
        ("metadata", pa.string()),
    ]
)


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


def judgment_row(judgment: Judgment, *, instance: str = "") -> Row:
    """The row of a judgment (its first vote's draw)."""
    outcome, draw, item = judgment.outcome, judgment.votes[0].draw, judgment.item
    verdict = outcome if isinstance(outcome, Verdict) else None
    failure = outcome if isinstance(outcome, Failure) else None
    return Row(
        item_id=item.id,
        candidate=judgment.candidate,
        instance=instance,
        judge=judgment.judge,
        judge_identity=judgment.judge_identity,
        content_hash=judgment.content_hash,
        prompt_hash=digest(judgment.prompt),
        model=judgment.model,
        weight_version=judgment.weight_version,
        vote=draw.vote,
        seed=draw.seed,
        order=list(draw.order),
        prompt=judgment.prompt,
        text=outcome.text,
        outcome="verdict" if failure is None else str(failure.kind),
        detail="" if failure is None else failure.detail,
        flags=[] if verdict is None else list(verdict.flags),
        scores=None if verdict is None or verdict.scores is None else list(verdict.scores),
        choice=None if verdict is None else verdict.choice,
        mass=None if verdict is None else verdict.mass,
        gold=None if item.gold is None else list(item.gold),
        n=item.n,
        calls=judgment.usage.calls,
        prompt_tokens=judgment.usage.prompt_tokens,
        cached_tokens=judgment.usage.cached_tokens,
        completion_tokens=judgment.usage.completion_tokens,
        latency_s=judgment.latency_s,
        cached=judgment.cached,
        reasks=judgment.reasks,
        time=time.time(),
        metadata=_json(dict(item.metadata)),
    )


def generation_row(
    *,
    request: Request,
    completions: Sequence[Completion] = (),
    failure: Failure | None = None,
    instance: str,
    latency_s: float,
) -> Row:
    """The row of a raw generation (``/generate``, ``/v1/chat/completions``): no judge, no scores.

    The prompt hash is left empty: hashing on the hot path buys nothing that the prompt beside it does not give.
    """
    first = completions[0] if completions else None
    return Row(
        item_id=request.id,
        candidate=None,
        instance=instance,
        judge="",
        judge_identity="",
        content_hash="",
        prompt_hash="",
        model=first.model if first else "",
        weight_version=first.weight_version if first else "",
        vote=0,
        seed=request.sampling.seed,
        order=[],
        prompt=prompt_text([request]),
        text="\n\n".join(c.text for c in completions),
        outcome="generated" if failure is None else str(failure.kind),
        detail="" if failure is None else failure.detail,
        flags=[],
        scores=None,
        choice=None,
        mass=None,
        gold=None,
        n=request.n,
        calls=1,
        prompt_tokens=first.prompt_tokens if first else 0,
        cached_tokens=first.cached_tokens if first else 0,
        completion_tokens=sum(c.completion_tokens for c in completions),
        latency_s=latency_s,
        cached=False,
        reasks=0,
        time=time.time(),
        metadata="{}",
    )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
