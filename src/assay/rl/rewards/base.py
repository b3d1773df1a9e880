"""What gives rewards: one small protocol, whoever stands behind it (a judge, a rule, a function of the user's)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from assay.core.deadline import Deadline

from ..sample import Prompt, Reward, Sample


class RewardFunction(Protocol):
    """Scores answers. ``grouped``: it wants all answers to a prompt at once (``--group-rm``)."""

    @property
    def grouped(self) -> bool: ...

    async def start(self) -> None:
        """Be ready. Raises InputError or StartError: what would fail for every sample fails here."""
        ...

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        """One reward per sample, in order: of one sample, or of a whole group. A judgment that fails does not raise.

        Raises:
            InputError: it would be the same for every sample (a wrong reward function, a judge that is not there).
        """
        ...

    async def close(self) -> None: ...


@runtime_checkable
class ChecksPrompts(Protocol):
    """A reward function that knows what it needs of a prompt."""

    def check(self, prompt: Prompt) -> None:
        """Refuse a prompt that lacks what every answer to it would be judged by, before anything is rolled out.

        Raises:
            InputError: names the prompt and what is missing.
        """
        ...
