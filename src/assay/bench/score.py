"""``Score``: a benchmark's official figure, and the parts that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A figure of one part: a section, a subset, a domain, a measure. In percent; None = none of its cases is there."""

    name: str
    value: float | None
    n: int
    """Cases that it counts."""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table: a figure for each column, in percent; None = there is nothing to count."""

    name: str
    n: int
    """Cases that it counts."""
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Other measures of the same answers: never the official figure."""

    name: str
    about: str
    """What the figures are, in a sentence."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The official figure. In percent (a few official formulas reach above 100); None = there is nothing to count."""

    value: float | None
    parts: tuple[Part, ...]
    beside: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    """Other figures that people give for it, in percent, each by its name: never the official one."""
    tables: tuple[Table, ...] = ()

    def flat(self) -> dict[str, float | None]:
        """Every figure by its path: ``""`` the score itself, ``Chat Hard``, ``Chat Hard/llmbar-natural``,
        ``beside/<name>``, ``<table>/<row>/<column>``."""
        found: dict[str, float | None] = {"": self.value}
        for path, part in self.walk():
            found[path] = part.value
        found.update({f"beside/{name}": value for name, value in self.beside.items()})
        for table in self.tables:
            for row in table.rows:
                found.update(
                    (cell_path(table, row, column), value)
                    for column, value in zip(table.columns, row.values, strict=True)
                )
        return found

    def walk(self) -> Iterator[tuple[str, Part]]:
        """All parts with their paths, a part before its own parts."""
        yield from _walk(self.parts, "")


def cell_path(table: Table, row: Row, column: str) -> str:
    """What ``Score.flat`` calls a figure of a table."""
    return f"{table.name}/{row.name}/{column}"


def _walk(parts: tuple[Part, ...], prefix: str) -> Iterator[tuple[str, Part]]:
    for part in parts:
        path = f"{prefix}{part.name}"
        yield path, part
        yield from _walk(part.parts, f"{path}/")
