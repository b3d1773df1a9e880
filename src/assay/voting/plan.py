"""``VotePlan``: how many votes a judgment draws, in which orders, and what they come to.

Owns: the options of voting, their defaults and what cannot go together. Does not own: how votes are drawn
(``scoring``), reduced (``reducers``) or stopped early (``stopping``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.core.errors import InputError
from assay.core.types import Reduce, SamplingParams

Orders = Literal["shuffle", "balanced", "fixed"]
Ties = Literal["random", "wrong", "half", "first"]

VOTING_SAMPLING = SamplingParams(temperature=0.5)
"""The paper's temperature for votes (DeepSeek-GRM); what the user or the instance says wins over it."""

MOST_VOTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Certain:
    """Stop when the votes that are left cannot overturn the lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confident:
    """Stop when P(decision differs from that of all k votes) is at most ``delta`` (see ``stopping``)."""

    delta: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 0.5:
            raise InputError(f"stop 'confident': delta must lie between 0 and 0.5, got {self.delta:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Stop when the votes so far have cost this many tokens (prompt and completion) or seconds."""

    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.tokens is None and self.seconds is None:
            raise InputError("stop 'budget' needs a number of tokens or of seconds")
        for name, value in (("tokens", self.tokens), ("seconds", self.seconds)):
            if value is not None and not value > 0:
                raise InputError(f"stop 'budget': {name} must be above 0, got {value:g}")


Stop: TypeAlias = "Certain | Confident | Budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class VotePlan:
    """How a judgment is voted on.

    ``k``: most votes. ``reduce``: None = the judge's own way. ``ties``: what becomes of two best candidates: one of
    them by a seeded draw, the ``first``, or none (``wrong``, ``half``: they say what a tie is worth where it is
    compared with gold). ``min_valid``: fewest votes with a verdict; None = half of those drawn. ``k_meta``: how many
    votes the meta RM keeps; None = half of ``k``, rounded up; with one vote nothing is sorted out. ``wave``: most
    votes in flight at a time while ``stop`` may end the drawing.
    """

    k: int = 1
    orders: Orders = "shuffle"
    reduce: Reduce | None = None
    ties: Ties = "random"
    min_valid: int | None = None
    k_meta: int | None = None
    meta: str | None = None
    """The meta RM's name; None = no meta RM."""
    stop: Stop | None = None
    wave: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST_VOTES:
            raise InputError(f"k must be between 1 and {MOST_VOTES}, got {self.k}")
        if self.wave < 1:
            raise InputError(f"wave must be at least 1, got {self.wave}")
        if self.min_valid is not None and not 1 <= self.min_valid <= self.k:
            raise InputError(f"min_valid must be between 1 and k={self.k}, got {self.min_valid}")
        if self.k_meta is not None and not 1 <= self.k_meta <= self.k:
            raise InputError(f"k_meta must be between 1 and k={self.k}, got {self.k_meta}")
        if self.k_meta is not None and self.meta is None:
            raise InputError(f"k_meta={self.k_meta} needs a meta RM: name one with 'meta', or leave k_meta out")
        if self.meta is not None and isinstance(self.stop, Certain | Confident):
            raise InputError(
                "a meta RM chooses among all k votes, so it cannot be combined with stop 'certain' or 'confident'; "
                "use stop 'budget', or none"
            )

    @property
    def kept_by_meta(self) -> int | None:
        """How many votes the meta RM keeps (the paper: k/2, here rounded up); None = no sorting out."""
        if self.meta is None or self.k == 1:
            return None
        return self.k_meta if self.k_meta is not None else (self.k + 1) // 2

    def reducer(self, judge: str, default: Reduce, n: int, *, per_candidate: bool) -> Reduce:
        """How the votes of a judge become one.

        Args:
            judge: its name, for the message. default: its own way (``Judge.reduce``).
            n: candidates of the item. per_candidate: the judge looks at one at a time.

        Raises:
            InputError: the judge gives no scores to add up, or there is nothing to have a majority of.
        """
        chosen = self.reduce or default
        if default == "majority" and chosen != "majority":
            raise InputError(f"judge {judge!r} names the best candidate and gives no scores: reduce must be 'majority'")
        if chosen == "majority" and (per_candidate or n == 1) and default != "majority":
            raise InputError(
                f"reduce 'majority' needs several candidates in one judgment; judge {judge!r} scores one at a time "
                "here: use 'mean' or 'median'"
            )
        return chosen
