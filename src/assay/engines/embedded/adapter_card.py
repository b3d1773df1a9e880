"""What an adapter says of itself: ``card.json`` beside its weights. Numbers in documents come from here, none is typed.

Owns: the form of the card, and how each judge that the adapter was trained for is asked. Does not own: the page made of
it (``report.adapter_page``), the check against the base model (``lora``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.types import SamplingParams

CARD = "card.json"

Target = Literal["verdict", "forms", "critique", "scores"]
"""What the adapter was trained to write: the label alone; normal forms of all answers as a closed thought and then the
label or the scores; principles, critique and scores; the scores alone."""

_ROOM: dict[Target, int] = {"verdict": 8, "forms": 200, "critique": 1024, "scores": 64}
"""Tokens that a reply of each kind may take, where the card does not say."""

_KINDS: dict[str, frozenset[Target]] = {
    "verifier": frozenset({"verdict", "forms"}),
    "pointwise": frozenset({"critique", "scores", "forms"}),
}

Cell = str | int | float | None


class JudgeForm(Config):
    """One judge as the adapter was trained to be it."""

    target: Target
    max_new_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens of a reply; by the target unless said."""
    temperature: Annotated[float, Field(ge=0)] | None = None
    """The temperature that its figures were measured at; the serving default unless said."""
    needs_reference: bool = False
    """It was trained on items with a reference only; without one it would make one up, so it is not asked."""

    @property
    def sampling(self) -> SamplingParams:
        """How replies are sampled unless the user says otherwise."""
        room = _ROOM[self.target] if self.max_new_tokens is None else self.max_new_tokens
        return SamplingParams(max_new_tokens=room, temperature=self.temperature)


class BaseWeights(Config):
    """The weights that the adapter was trained on, and belongs to."""

    model: str
    """As ``--model`` takes it."""
    source: str
    """Where its weights came from: package, version, file."""
    state_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of the tensors: see ``model_files.state_sha256``."""


class DataPart(Config):
    """Data that it was trained on."""

    name: str
    rows: Annotated[int, Field(ge=0)]
    note: str = ""


class Figures(Config):
    """One table of measurements."""

    title: str
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """What was measured, on how many items, by what, and how sure it is."""

    @model_validator(mode="after")
    def _square(self) -> Figures:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns, and a row of {len(row)}")
        return self


class AdapterCard(Config):
    """The card."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    summary: str
    license: str
    base: BaseWeights
    judges: Annotated[dict[str, JudgeForm], Field(min_length=1)]
    """The judges that it was trained for, by name; with any other it is not the default."""
    data: tuple[DataPart, ...] = ()
    training: dict[str, Cell] = Field(default_factory=dict[str, Cell])
    """Steps, rates, seconds, the commands: name and value."""
    figures: tuple[Figures, ...] = ()
    limits: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> AdapterCard:
        for judge, form in self.judges.items():
            if form.target not in _KINDS.get(judge, frozenset()):
                known = "; ".join(f"{name}: {', '.join(sorted(kinds))}" for name, kinds in _KINDS.items())
                raise ValueError(f"judge {judge!r} has no target {form.target!r}; there are {known}")
        return self


def read_card(folder: Path) -> AdapterCard | None:
    """The card of an adapter; None where there is none.

    Raises:
        InputError: it cannot be read; the message names file, field and value.
    """
    file = folder / CARD
    if not file.is_file():
        return None
    try:
        return AdapterCard.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InputError(f"{str(file)!r}: {explain(error)}") from error
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be read: {error.strerror or error}") from error
