"""A table of scores or decisions that somebody else made, one row an item: as if a judge had given them.

Columns: ``id``, and one of ``scores`` (a list, best first or not, in the order of the candidates), ``score_0``,
``score_1``, ... (one number each), ``score`` (of a single answer), ``choice`` (index of the best candidate, from 0),
``decisions`` (two of ``A>B``, ``B>A``, ``tie`` or null, as JudgeBench writes them: what was said of the pair, and what
was said, in the names as shown, of the pair the other way round). An empty row, or a ``failure`` of a known kind, is a
failed judgment.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError
from assay.core.types import FailureKind
from assay.data.records import BadRecord
from assay.data.sources import open_source

from ..unit import Answer, Judged, Unit

IDS = ("id", "item_id", "unit", "pair_id", "question_id")
_SHOWN = 5
_GAMES: Mapping[str, int | None] = {"A>B": 0, "A>>B": 0, "B>A": 1, "B>>A": 1, "TIE": None, "A=B": None}


class _BadRow(ValueError):
    """The row is no answer; the text says why."""


def read_table(path: Path, units: Sequence[Unit]) -> list[Judged]:
    """The units with the answers that the table gives.

    Raises:
        InputError: a row is wrong, two are of one item, an item of the table is unknown, or one has no row; ids and
            lines are named.
    """
    by_id = {unit.item.id: unit for unit in units}
    found: dict[str, Judged] = {}
    unknown: list[str] = []
    double: list[str] = []
    for record in open_source(path).records:
        if isinstance(record, BadRecord):
            raise InputError(f"{str(path)!r}, line {record.line}: {record.reason}")
        try:
            name = _id(record.row)
            unit = by_id.get(name)
            if unit is None:
                unknown.append(name)
            elif name in found:
                double.append(name)
            else:
                found[name] = _judged(unit, record.row)
        except _BadRow as error:
            raise InputError(f"{str(path)!r}, line {record.line}: {error}") from error
    missing = [name for name in by_id if name not in found]
    _refuse(path, (("unknown", unknown), ("with several rows", double), ("without a row", missing)), units)
    return list(found.values())


def _refuse(path: Path, faults: Iterable[tuple[str, list[str]]], units: Sequence[Unit]) -> None:
    told = [f"{len(names)} items {what}: {_listed(names)}" for what, names in faults if names]
    if told:
        example = units[0].item.id if units else ""
        raise InputError(f"{str(path)!r} does not fit the benchmark (its ids look like {example!r}): {'; '.join(told)}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _id(row: Mapping[str, Any]) -> str:
    name = next((row[key] for key in IDS if row.get(key) not in (None, "")), None)
    if name is None:
        raise _BadRow(f"no id in it; name it in a column {', '.join(IDS)}")
    return str(name)


def _judged(unit: Unit, row: Mapping[str, Any]) -> Judged:
    decisions = _list(row.get("decisions"))
    if decisions is not None:
        return _of_games(unit, decisions)
    return Judged(unit=unit, answer=_answer(row, unit.item.n))


def _answer(row: Mapping[str, Any], n: int) -> Answer:
    failure = row.get("failure")
    if failure not in (None, ""):
        kinds = [str(kind) for kind in FailureKind]
        if failure not in kinds:
            raise _BadRow(f"unknown failure {failure!r:.80}; there are {', '.join(kinds)}")
        return Answer(failure=FailureKind(failure))
    scores = _scores(row)
    if scores is not None:
        if len(scores) != n:
            raise _BadRow(f"{len(scores)} scores for {n} candidates")
        return Answer(scores=scores)
    choice = row.get("choice")
    if choice not in (None, ""):
        return Answer(choice=_index(choice, n))
    if not any(key in row for key in ("scores", "score", "choice")) and not any(map(_number_of, row)):
        raise _BadRow("no answer in it: give scores, score_0 and score_1, score, choice, decisions or failure")
    return Answer(failure=FailureKind.PARSE_ERROR)


def _scores(row: Mapping[str, Any]) -> tuple[float, ...] | None:
    values = _list(row.get("scores"))
    if values is None and row.get("score") not in (None, ""):
        values = [row["score"]]
    if values is None:
        named = sorted(filter(None, map(_number_of, row)), key=lambda pair: pair[0])
        cells = [row[name] for _, name in named if row[name] not in (None, "")]
        if cells and [place for place, _ in named[: len(cells)]] != list(range(len(cells))):
            raise _BadRow("scores must be numbered score_0, score_1, ... without a gap")
        values = cells or None
    return None if values is None else tuple(map(_finite, values))


def _number_of(name: str) -> tuple[int, str] | None:
    found = re.fullmatch(r"score_(\d+)", name)
    return (int(found[1]), name) if found else None


def _finite(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _BadRow(f"a score must be a finite number, not {value!r:.80}")
    return number


def _index(value: Any, n: int) -> int:
    number = _finite(value)
    if number != int(number) or not 0 <= number < n:
        raise _BadRow(f"choice must be an index from 0 to {n - 1}, not {value!r:.80}")
    return int(number)


def _list(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError as error:
            raise _BadRow(f"not a list: {value!r:.80}") from error
    if value in (None, ""):
        return None
    if not isinstance(value, list | tuple):
        raise _BadRow(f"not a list: {value!r:.80}")
    return list(cast("Sequence[Any]", value))


def _of_games(unit: Unit, said: Sequence[Any]) -> Judged:
    """Two games, the second with the candidates the other way round; the answer is what both come to."""
    if unit.item.n != 2 or len(said) != 2:
        raise _BadRow(f"decisions are two, on a pair; got {len(said)} on {unit.item.n} candidates")
    games = (_game(said[0]), _game(said[1], turned=True))
    wins = Counter(game.choice for game in games if game.choice is not None)
    if all(game.failure is not None for game in games):
        return Judged(unit=unit, answer=games[0], by_order=games)
    return Judged(unit=unit, answer=Answer(scores=(float(wins[0]), float(wins[1]))), by_order=games)


def _game(said: Any, *, turned: bool = False) -> Answer:
    if said in (None, ""):
        return Answer(failure=FailureKind.PARSE_ERROR)
    key = str(said).strip().upper()
    if key not in _GAMES:
        raise _BadRow(f"a decision is one of {', '.join(_GAMES)} or null, not {said!r:.80}")
    winner = _GAMES[key]
    return Answer(scores=(1.0, 1.0)) if winner is None else Answer(choice=1 - winner if turned else winner)
