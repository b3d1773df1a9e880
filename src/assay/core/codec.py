"""What an engine said, as JSON and back: the form in which completions are recorded and cached.

Kept is what a judge can read: text, finish reason, log-probs of choices, mass. Token ids are not, for trainers need
those; but for beside the alternatives of each place, where they say which of them was sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.core.types import Completion, TokenLogprob


def completions_to_json(completions: Iterable[Completion]) -> list[dict[str, Any]]:
    """JSON-able objects, one a completion; ``completions_from_json`` gives equal ones, less what is not kept."""
    return [_dump(completion) for completion in completions]


def completions_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Completion, ...]:
    """The completions of ``completions_to_json``."""
    return tuple(_load(row) for row in rows)


def _dump(completion: Completion) -> dict[str, Any]:
    row: dict[str, Any] = {
        "request_id": completion.request_id,
        "text": completion.text,
        "index": completion.index,
        "finish_reason": completion.finish_reason,
        "mass": completion.mass,
        "prompt_tokens": completion.prompt_tokens,
        "cached_tokens": completion.cached_tokens,
        "completion_tokens": completion.completion_tokens,
        "seed": completion.seed,
        "model": completion.model,
        "weight_version": completion.weight_version,
    }
    if completion.choice_logprobs is not None:
        row["choice_logprobs"] = list(completion.choice_logprobs)
    if completion.top_logprobs is not None:
        row["top_logprobs"] = [[[t.token_id, t.text, t.logprob] for t in place] for place in completion.top_logprobs]
        row["token_ids"] = list(completion.token_ids)
    return row


def _load(row: Mapping[str, Any]) -> Completion:
    fields = dict(row)
    if "choice_logprobs" in fields:
        fields["choice_logprobs"] = tuple(fields["choice_logprobs"])
    if "token_ids" in fields:
        fields["token_ids"] = tuple(fields["token_ids"])
    if "top_logprobs" in fields:
        fields["top_logprobs"] = tuple(
            tuple(TokenLogprob(token_id=t[0], text=t[1], logprob=t[2]) for t in place)
            for place in fields["top_logprobs"]
        )
    return Completion(**fields)
