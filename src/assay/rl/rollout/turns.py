"""What happens between an answer of the policy and its next: tools, users, environments. Most tasks have none."""

from __future__ import annotations

from typing import Protocol

from ..sample import Sample


class Environment(Protocol):
    """Answers the policy. Its words are tokens of the sample that no loss is taken over."""

    async def reply(self, sample: Sample) -> str | None:
        """What follows the sample so far, written as the policy's chat format wants it; None where it is complete."""
        ...
