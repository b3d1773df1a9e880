"""Live counters of an instance's raw generations (``/generate``, ``/v1/chat/completions``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.core.types import Completion, Failure, Json


@dataclass(slots=True)
class Generations:
    """Counted once per request, when it has ended."""

    requests: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def add(self, completions: Sequence[Completion], failure: Failure | None) -> None:
        self.requests += 1
        if failure is not None:
            self.failures[str(failure.kind)] += 1
        if completions:
            self.prompt_tokens += completions[0].prompt_tokens
            self.cached_tokens += completions[0].cached_tokens
        for completion in completions:
            self.completion_tokens += completion.completion_tokens

    def snapshot(self) -> dict[str, Json]:
        return {
            "requests": self.requests,
            "failures": dict(self.failures),
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
        }
