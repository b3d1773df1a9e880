"""``score.json`` of a benchmark run, checked. Owns: what is in the file as far as reports need it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from assay.bench.counting import Counting
from assay.core.config import explain
from assay.core.errors import InputError


class Told(BaseModel):
    """A piece of a file that others write: what is not known here is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Span(Told):
    """A 95 % interval, in percent or points."""

    low: float
    high: float


class Part(Told):
    """A part of a score, with its own parts."""

    name: str
    value: float | None
    interval: Span | None = None
    n: int
    parts: tuple[Part, ...] = ()


class Row(Told):
    """A row of a table, a figure and an interval for each column."""

    name: str
    n: int
    values: tuple[float | None, ...]
    intervals: tuple[Span | None, ...]


class Table(Told):
    """Other measures of the same answers."""

    name: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class Gain(Told):
    """What a series is above another one, in points."""

    over: str
    value: float
    interval: Span | None = None


class Series(Told):
    """The score of one way of answering: ``greedy``, ``voting@8``, ``meta@8``, ``meta@8/4``, ``once``."""

    name: str
    k: int
    k_meta: int | None = None
    score: float | None
    interval: Span | None = None
    failed: int = 0
    tied: int = 0
    gains: tuple[Gain, ...] = ()


class Tokens(Told):
    """Tokens of a vote: mean, median and 95th percentile."""

    mean: float
    median: float
    p95: float


class Lengths(Told):
    """Of the votes on a subset."""

    votes: int
    prompt: Tokens
    written: Tokens


class Orders(Told):
    """The score of each order of a pair alone; ``agree``: percent of pairs with the same answer in both."""

    first: float | None
    second: float | None
    mean: float | None
    agree: float | None


class Seeds(Told):
    """The single-order score by seed; ``changed``: percent of units whose answer is not always the same."""

    scores: dict[str, float | None]
    spread: float | None
    changed: float | None = None


class Score(Told):
    """``score.json``. ``of``: the series that the score is of; ``units``: questions that were asked."""

    assay_bench: Literal[1]
    benchmark: str
    title: str
    score: float | None
    interval: Span | None = None
    of: str
    counting: Counting = Field(validation_alias=AliasChoices("counting", "policy"))
    """Earlier files call it ``policy``."""
    by_ties: dict[str, float | None] = Field(default_factory=dict)
    by_failures: dict[str, float | None] = Field(default_factory=dict)
    units: int
    cases: int
    failures: dict[str, int] = Field(default_factory=dict)
    tied: int = 0
    parts: tuple[Part, ...] = ()
    beside: dict[str, float | None] = Field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    series: tuple[Series, ...] = ()
    orders: Orders | None = None
    seeds: Seeds | None = None
    lengths: dict[str, dict[str, Lengths]] = Field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    missing_subsets: tuple[str, ...] = ()
    unofficial_subsets: tuple[str, ...] = ()
    asked: dict[str, Any] = Field(default_factory=dict)

    def walk(self) -> Iterator[tuple[str, Part]]:
        """All parts with their paths, a part before its own parts."""
        yield from _walk(self.parts, "")


def read_score(path: Path) -> Score:
    """The file, checked.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    try:
        return Score.model_validate(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(f"{str(path)!r} is no score of a benchmark run: {explain(error)}") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no score of a benchmark run: {error}") from error


def _walk(parts: tuple[Part, ...], prefix: str) -> Iterator[tuple[str, Part]]:
    for part in parts:
        path = f"{prefix}{part.name}"
        yield path, part
        yield from _walk(part.parts, f"{path}/")
