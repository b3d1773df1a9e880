"""Settings of the fake engine."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.core.config import Config

FaultName = Literal["latency", "error_502", "overloaded", "truncated", "empty", "garbage", "hang"]
Probability = Annotated[float, Field(ge=0, le=1)]


class FakeConfig(Config):
    """Scripted replies, and faults with given probabilities. Equal request, equal reply, equal fault."""

    kind: Literal["fake"] = "fake"
    model: str = "fake"
    replies: Literal["echo"] | tuple[str, ...] | dict[str, str] = ()
    """``echo`` repeats the last user message; a list is drawn from; a mapping gives the reply of its first key that the
    message contains."""
    default: str = "1"
    """The reply where ``replies`` has none."""
    choices: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict[str, float])
    """Probabilities of the replies of a request with ``choices``; those not named share what is left. Without any, the
    scripted reply gets 0.9."""
    latency_s: float = Field(default=0, ge=0)
    """Seconds that a request takes on average."""
    latency_spread: float = Field(default=0, ge=0)
    """Standard deviation of the latency over its mean: log-normal, drawn from the request; 1 is a long tail."""
    max_running: int | None = Field(default=None, ge=1)
    """Requests that it works on at a time; the others wait their turn."""
    faults: dict[FaultName, Probability] = Field(default_factory=dict[FaultName, float])
    """Probability of each fault; together at most 1. ``latency`` answers late, ``hang`` not before the deadline,
    ``truncated`` half and with finish reason length; ``empty`` and ``garbage`` are texts."""
    slow_s: float = Field(default=0.1, ge=0)
    """Seconds that the fault ``latency`` adds."""
    retry_after_s: float = Field(default=1, ge=0)
    """What the fault ``overloaded`` asks for."""
    seed: int = 0
    """Another seed draws other faults and replies."""
    grammars: bool = False
    """Take requests with ``regex`` or ``json_schema``; the replies stay the scripted ones."""
    context_len: int | None = Field(default=None, ge=1)
    """Most words of prompt and reply together; a longer prompt is refused."""

    @model_validator(mode="after")
    def _sums(self) -> Self:
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ValueError(f"the probabilities of faults add up to {sum(self.faults.values()):g}, over 1")
        if sum(self.choices.values()) > 1 + 1e-9:
            raise ValueError(f"the probabilities of choices add up to {sum(self.choices.values()):g}, over 1")
        return self
