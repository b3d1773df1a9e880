"""``Benchmark``: where the records come from, what is asked and gold, what a case is worth, and how cases add up.

Everything in it is data or a pure function, so a benchmark is one small file and is tested without a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.data.records import AnyRecord, BadRecord

from .counting import Counting
from .measure import Cases, Measured
from .score import Score
from .unit import Judged, Unit

Kind = Literal["pair", "list", "single"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One hub dataset of a benchmark: ``hub`` (owner/name) at ``revision`` (a commit; None = none is pinned)."""

    hub: str
    revision: str | None = None
    config: str | None = None
    split: str | None = None
    file: str = ""
    """What its rows are called where the name of the official file says something (a domain, a set)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsRead:
    """What the records of one file come to. Nothing is lost in silence: what is no unit is bad, or left out for a
    reason that the benchmark itself gives (PPE: rows without a winner)."""

    units: tuple[Unit, ...]
    bad: tuple[BadRecord, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark. ``name`` is what the command line calls it."""

    name: str
    title: str
    license: str
    about: str
    kind: Kind
    orders: Literal["one", "both"] = "one"
    """``both``: the official score needs the answers to both orders of a pair."""
    subsets: tuple[str, ...] = ()
    """The official subsets; one that is missing is told, and a record of another is bad. Empty = any."""
    sources: tuple[Source, ...] = ()
    files: tuple[str, ...] = ()
    """Patterns (of ``fnmatch``, on the path below the folder) of the official local files; empty = any data file."""
    password: str | None = None
    """Of the archive in which the authors publish it."""
    private_text: bool = False
    """The authors ask that no text of it appear in the open: whoever runs it stores no question, answer, prompt or
    completion."""
    units: Callable[[Iterable[AnyRecord], str], UnitsRead]
    """Records of one file, with the file's name (relative to the folder), to units. Pure."""
    measure: Callable[[Sequence[Judged], Counting], Measured | None]
    """All units of one complete case; None = the rule for failures excludes it. Pure."""
    combine: Callable[[Mapping[str, Cases]], Score]
    """The official aggregation over the subsets that are there. Pure; called once for each bootstrap draw."""
