"""The options of voting as fields: of a request body, of a command's flags, of a recipe. One definition for all.

Owns their names and the plan that they come to. Does not own what a plan means (``voting``).
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from assay.core.errors import InputError
from assay.core.types import Reduce
from assay.voting.plan import Orders, Ties, VotePlan
from assay.voting.spoken import plan_from_json, plan_to_json

_OPTIONS = ("k", "orders", "reduce", "ties", "min_valid", "meta", "k_meta", "stop", "wave")


class VotingFields(BaseModel):
    """How to vote; with none of these a judgment is one plain vote."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    k: int | None = None
    """Votes to draw. Left out together with the other options of voting: one plain judgment at the serving
    temperature. Given, also as 1: votes at the voting temperature (0.5 unless the instance says otherwise)."""

    orders: Orders | None = None
    """How the candidates' order changes from vote to vote; ``shuffle`` unless said."""

    reduce: Reduce | None = None
    """How votes become one; the judge's own way unless said."""

    ties: Ties | None = None
    """What becomes of two best candidates; ``random`` (seeded) unless said."""

    min_valid: int | None = None
    """Fewest votes with a verdict; half of those drawn unless said."""

    meta: str | None = None
    """A meta RM of the service, which chooses the votes that count."""

    k_meta: int | None = None
    """How many votes the meta RM keeps; half of ``k``, rounded up, unless said."""

    stop: str | None = None
    """When to stop early: ``certain``, ``confident:0.05``, ``budget:tokens=2000``, ``budget:seconds=3``."""

    wave: int | None = None
    """Most votes in flight at a time while ``stop`` may end the drawing; 4 unless said."""

    @model_validator(mode="after")
    def _votable(self) -> VotingFields:
        try:
            self.plan()
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    def plan(self) -> VotePlan | None:
        """How to vote; None for a plain judgment.

        Raises:
            InputError: options that do not go together.
        """
        said = self.said()
        return plan_from_json(said) if said else None

    def said(self) -> dict[str, Any]:
        """The options that are given."""
        return {name: getattr(self, name) for name in _OPTIONS if getattr(self, name) is not None}

    def over(self, plan: VotePlan) -> VotePlan:
        """``plan``, with the options that are given here in place of its own.

        Raises:
            InputError: options that do not go together.
        """
        return plan_from_json({**plan_to_json(plan), **self.said()})


def plan_fields(plan: VotePlan | None) -> dict[str, Any]:
    """The fields that ask for ``plan``."""
    return {} if plan is None else {name: value for name, value in plan_to_json(plan).items() if value is not None}
