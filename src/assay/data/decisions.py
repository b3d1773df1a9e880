"""From recorded votes to judgments: one row for each judgment, with what its votes came to.

Whoever counts agreement, exports preferences or compares runs looks at judgments; whoever counts cost looks at votes.
Owns rows -> votes -> decision. Does not own the decision itself (``voting.decide``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.core.codec import completions_from_json
from assay.core.types import Draw, Failure, FailureKind, Outcome, Usage, Verdict, Vote

from .results import VERDICT, ResultRow

Subject = tuple[str, str, str, str, int | None, int]


def judgments(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """One row per judgment, in the order of appearance: of a plain one its own row, of several votes the first row
    with the recorded decision in place of its verdict; costs are summed up over the votes."""
    return [group[0] if not group[0].decision else _decided(group) for group in by_judgment(rows)]


def by_judgment(rows: Iterable[ResultRow]) -> list[list[ResultRow]]:
    """The rows of each judgment (item, candidate, judge, instance, seed), votes in order.

    A recording may hold the same judgment several times, each with its rows one after the other: a vote that is there
    already begins a new one.
    """
    found: list[dict[int, ResultRow]] = []
    current: dict[Subject, dict[int, ResultRow]] = {}
    for row in rows:
        key = (row.item_id, row.judge, row.judge_identity, row.instance, row.candidate, row.base_seed)
        group = current.get(key)
        if group is None or row.vote in group:
            group = current[key] = {}
            found.append(group)
        group[row.vote] = row
    return [[group[vote] for vote in sorted(group)] for group in found]


def to_vote(row: ResultRow) -> Vote:
    """The vote that a row records."""
    return Vote(
        draw=Draw(vote=row.vote, seed=row.seed or 0, order=row.order),
        outcome=to_outcome(row),
        candidate=row.candidate,
        content_hash=row.content_hash,
        prompt=row.prompt,
        completions=completions_from_json(row.completions),
        usage=Usage(
            calls=row.calls,
            prompt_tokens=row.prompt_tokens,
            cached_tokens=row.cached_tokens,
            completion_tokens=row.completion_tokens,
        ),
        cached=row.cached,
        reasks=row.reasks,
        latency_s=row.latency_s,
        model=row.model,
        weight_version=row.weight_version,
        meta=row.meta,
        meta_failure=_meta_failure(row.meta_detail),
        kept=row.kept,
    )


def to_outcome(row: ResultRow) -> Outcome:
    """What a row says that its judge said."""
    if not row.ok:
        return Failure(kind=FailureKind(row.outcome), detail=row.detail, text=row.text)
    return Verdict(
        scores=row.scores,
        choice=row.choice,
        flags=row.flags,
        text=row.text,
        mass=row.mass,
        breakdown=tuple(row.breakdown),
    )


def _meta_failure(told: str) -> Failure | None:
    """As ``<kind>: <detail>`` tells it."""
    kind, _, detail = told.partition(": ")
    return Failure(kind=FailureKind(kind), detail=detail) if told else None


def _decided(votes: Sequence[ResultRow]) -> ResultRow:
    first, told = votes[0], votes[0].decision
    scores = told.get("scores")
    return replace(
        first,
        outcome=str(told.get("failure") or VERDICT),
        detail=str(told.get("detail") or ""),
        scores=None if scores is None else tuple(scores),
        choice=told.get("choice"),
        flags=tuple(told.get("flags") or ()),
        text="\n\n".join(row.text for row in votes),
        calls=sum(row.calls for row in votes),
        prompt_tokens=sum(row.prompt_tokens for row in votes),
        cached_tokens=sum(row.cached_tokens for row in votes),
        completion_tokens=sum(row.completion_tokens for row in votes),
        cached=all(row.cached for row in votes),
        latency_s=max(row.latency_s for row in votes),
    )
