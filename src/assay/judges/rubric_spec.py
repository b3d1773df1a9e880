"""What a rubric says: criteria with weights and scales, out of a TOML file or the one that comes with the package.

    name = "support"
    [[criterion]]
    name = "Tone"
    text = "Calm and friendly, also where the customer is not."
    weight = 2
    scale = [1, 5]

Owns: the keys and what they may be. Does not own: what the judge then does (``rubric``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, FiniteFloat, StringConstraints, model_validator

from assay.core.config import Config

from .shield import Language
from .template import load_prompt

Batch = Annotated[int, Field(ge=1)] | None


class Criterion(Config):
    """One thing to judge by."""

    name: Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$")]
    """What it is called, in the prompt and in the breakdown."""
    text: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
    """When is it met? Best said with an example."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """How much it counts beside the others."""
    scale: tuple[FiniteFloat, FiniteFloat] = (1.0, 10.0)
    """Lowest and highest score."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.scale[0] < self.scale[1]:
            raise ValueError(f"criterion {self.name!r}: scale needs [low, high] with low < high, got {self.scale!r}")
        return self


class RubricConfig(Config):
    """Options of the built-in rubric judge, which judges by four general criteria of equal weight."""

    batch: Batch = None
    """How many criteria to judge in one request; all of them without it."""
    partial: bool = False
    """Take the mean of the criteria that could be read, where some could not; such verdicts are flagged."""
    lenient: bool = False
    """Forgive how the scores are written; such verdicts are flagged."""
    reference: bool = True
    """Show the item's reference, where the item has one."""
    language: Language = "en"
    """The language of the prompt."""


class RubricSpec(RubricConfig):
    """The file of a rubric judge."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """What the judge is called in tables and records: letters, digits, ``.``, ``_``, ``-``."""
    criterion: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    """The criteria, one ``[[criterion]]`` each."""

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        twice = named_twice(self.criterion)
        if twice is not None:
            raise ValueError(f"criterion: two are called {twice!r}; give each a name of its own")
        return self


def named_twice(criteria: Sequence[Criterion]) -> str | None:
    """A name that two criteria have, whatever its letter case; None where there is none."""
    seen: set[str] = set()
    for criterion in criteria:
        if criterion.name.casefold() in seen:
            return criterion.name
        seen.add(criterion.name.casefold())
    return None


def general_criteria(language: Language) -> tuple[Criterion, ...]:
    """The criteria of the built-in rubric: those that the pointwise judge starts from."""
    rows = tomllib.loads(load_prompt("rubric.general", language))["criterion"]
    return tuple(Criterion.model_validate(row) for row in rows)
