"""The vocabulary of RL: a prompt, the samples of it, and what each earned. Read this file first.

One step, in types: ``Prompt`` -> rollout -> ``Sample``s of a ``Group`` -> reward -> the same samples with a ``Reward``
-> advantages -> ``training.TrainSequence``s -> update. The names are those of the field (Relax, slime), so that a
custom reward function written for them reads ours. Owns: the records. Does not own: how any of them comes about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from assay.core.types import Failure, Message

PromptText: TypeAlias = "str | tuple[Message, ...]"
"""Text that goes to the policy as it is, or a conversation for its chat template."""


class Status(StrEnum):
    """How an answer of the policy ended."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"
    """Cut off at the length limit."""
    ABORTED = "aborted"
    """Stopped on purpose, to be gone on with; never trained on as it is."""
    FAILED = "failed"
    """The rollout engine gave none; ``Sample.failure`` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One row of the prompt data.

    ``ordinal``: its place in the endless sequence of prompts that a run draws (epoch after epoch), so that a resumed
    run knows which were used. ``label``: the gold answer, where the data has one.
    """

    ordinal: int
    prompt: PromptText
    label: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The prompt as text; of a conversation its turns, joined by a blank line."""
        return self.prompt if isinstance(self.prompt, str) else "\n\n".join(turn.text for turn in self.prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """What a sample earned: a number, or the failure because of which there is none. Never both, never neither.

    ``parts``: further numbers of a reward function that returns a dict, for the record; ``value`` is the one that
    ``--reward-key`` picks. ``judge``: whose verdict it is.
    """

    value: float | None = None
    failure: Failure | None = None
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    judge: str = ""
    text: str = ""
    """What the judge said."""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.failure is None):
            raise ValueError("a reward is a value or a failure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of the policy to a prompt, with everything that training needs of it.

    Per response token: ``loss_mask`` (False for what the policy did not write), ``rollout_log_probs`` (natural log,
    temperature of the rollout) and ``weight_versions`` (several where an aborted answer was gone on with).
    ``index``: which of the group's samples it is.
    """

    group_index: int
    index: int
    prompt: PromptText
    label: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt_ids: tuple[int, ...] = ()
    response_ids: tuple[int, ...] = ()
    response: str = ""
    loss_mask: tuple[bool, ...] = ()
    rollout_log_probs: tuple[float, ...] = ()
    weight_versions: tuple[str, ...] = ()
    status: Status = Status.COMPLETED
    reward: Reward | None = None
    """None: not judged yet."""
    failure: Failure | None = None
    """Why the rollout gave no answer (``Status.FAILED``)."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and response, as token ids."""
        return self.prompt_ids + self.response_ids

    @property
    def response_length(self) -> int:
        """Tokens of the response, those that the policy did not write included."""
        return len(self.response_ids)

    @property
    def truncated(self) -> bool:
        return self.status is Status.TRUNCATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The samples of one prompt, in the order of their index."""

    prompt: Prompt
    samples: tuple[Sample, ...]
