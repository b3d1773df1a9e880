"""Published tables, recomputed: does the printed mean of a row follow from its subsets, do average ranks from the rows?

What is printed is rounded. A mean that follows from the unrounded values may differ from the mean of the printed ones
by half a unit of their last digit, and is itself rounded to half a unit of its own: a row is flagged beyond the sum
of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from .overall import average_ranks

_RANK_STEP = 0.01
"""Average ranks are printed to two digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A row as printed; None where a cell is empty or no number. Decimals keep the digits that were printed."""

    name: str
    subsets: Mapping[str, Decimal | None]
    mean: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRanks:
    """Average ranks as printed, and the table that they are about."""

    table: str
    ranks: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """All tables of a publication."""

    tables: Mapping[str, Sequence[PublishedRow]]
    ranks: Mapping[str, PublishedRanks]
    other: tuple[str, ...] = ()
    """Entries that are neither rows with a mean nor ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedRow:
    """A row that does not add up. ``difference``: printed minus recomputed. ``hints``: what may have happened."""

    table: str
    name: str
    printed: float
    recomputed: float
    difference: float
    tolerance: float
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRanks:
    """Average ranks as printed and as recomputed."""

    name: str
    table: str
    printed: Mapping[str, float]
    recomputed: Mapping[str, float]

    @property
    def wrong(self) -> tuple[str, ...]:
        """Rows whose printed rank is another one."""
        return tuple(
            name for name, rank in self.printed.items() if abs(rank - self.recomputed[name]) > _RANK_STEP / 2 + 1e-12
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCheck:
    """What the check found."""

    rows: Mapping[str, int]
    """Table -> how many of its rows could be checked."""
    flagged: tuple[FlaggedRow, ...]
    unchecked: tuple[str, ...]
    """Rows of which a cell is empty or no number, and ranks of rows that are not there."""
    twins: tuple[tuple[str, ...], ...]
    """Table and the names of rows whose subsets are all equal: one of them may be a copy."""
    ranks: tuple[CheckedRanks, ...]
    other: tuple[str, ...]


def check_published(published: Published) -> TableCheck:
    """Recompute all that can be recomputed."""
    flagged: list[FlaggedRow] = []
    unchecked: list[str] = []
    twins: list[tuple[str, ...]] = []
    rows: dict[str, int] = {}
    for table, own in published.tables.items():
        whole = [row for row in own if row.mean is not None and row.subsets and None not in row.subsets.values()]
        unchecked += [f"{table}: {row.name}" for row in own if row not in whole]
        rows[table] = len(whole)
        twins += [(table, *names) for names in _twins(whole)]
        flagged += _flagged(table, whole)
    ranks: list[CheckedRanks] = []
    for name, said in published.ranks.items():
        found = _checked_ranks(name, said, published.tables[said.table])
        if found is None:
            unchecked.append(f"{name}: ranks of rows that {said.table} does not have")
        else:
            ranks.append(found)
    return TableCheck(
        rows=rows,
        flagged=tuple(flagged),
        unchecked=tuple(unchecked),
        twins=tuple(twins),
        ranks=tuple(ranks),
        other=published.other,
    )


def _flagged(table: str, rows: Sequence[PublishedRow]) -> list[FlaggedRow]:
    tolerance = _half_a_unit([v for row in rows for v in _values(row)]) + _half_a_unit([_mean(row) for row in rows])
    recomputed = {row.name: sum(_values(row), Decimal(0)) / len(row.subsets) for row in rows}
    wrong = [row for row in rows if abs(_mean(row) - recomputed[row.name]) > tolerance]
    return [
        FlaggedRow(
            table=table,
            name=row.name,
            printed=float(_mean(row)),
            recomputed=float(recomputed[row.name]),
            difference=float(_mean(row) - recomputed[row.name]),
            tolerance=float(tolerance),
            hints=(*_copied(row, rows), *_swapped(row, wrong, recomputed, tolerance)),
        )
        for row in wrong
    ]


def _copied(row: PublishedRow, rows: Sequence[PublishedRow]) -> list[str]:
    return [
        f"its subsets are those of {other.name}"
        for other in rows
        if other is not row and dict(other.subsets) == dict(row.subsets)
    ]


def _swapped(
    row: PublishedRow, wrong: Sequence[PublishedRow], recomputed: Mapping[str, Decimal], tolerance: Decimal
) -> list[str]:
    return [
        f"its mean and that of {other.name} are printed the other way round"
        for other in wrong
        if other is not row
        and abs(recomputed[row.name] - _mean(other)) <= tolerance
        and abs(recomputed[other.name] - _mean(row)) <= tolerance
    ]


def _twins(rows: Sequence[PublishedRow]) -> list[tuple[str, ...]]:
    groups: dict[tuple[tuple[str, Decimal | None], ...], list[str]] = {}
    for row in rows:
        groups.setdefault(tuple(sorted(row.subsets.items())), []).append(row.name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def _checked_ranks(name: str, said: PublishedRanks, rows: Sequence[PublishedRow]) -> CheckedRanks | None:
    known = {row.name: {key: float(value) for key, value in row.subsets.items() if value is not None} for row in rows}
    if not set(said.ranks) <= set(known):
        return None
    recomputed = average_ranks({model: known[model] for model in said.ranks})
    printed = {model: float(rank) for model, rank in said.ranks.items()}
    return CheckedRanks(name=name, table=said.table, printed=printed, recomputed=recomputed)


def _half_a_unit(values: Sequence[Decimal]) -> Decimal:
    """Half a unit of the last digit that the values are printed to."""
    exponents = [int(value.as_tuple().exponent) for value in values]
    return Decimal(1).scaleb(min(exponents)) / 2 if exponents else Decimal(0)


def _values(row: PublishedRow) -> list[Decimal]:
    return [value for value in row.subsets.values() if value is not None]


def _mean(row: PublishedRow) -> Decimal:
    assert row.mean is not None
    return row.mean
