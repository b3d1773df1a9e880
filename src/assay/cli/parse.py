"""``assay parse``: print what a parser makes of judge texts, to try it without a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field, ValidationError

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.types import Candidate, Completion, Draw, Item, Message, Outcome, Verdict
from assay.judges import build_judge


class ParseLine(Config):
    """One line of input."""

    text: str
    """What the judge said."""

    n: int = Field(default=1, ge=1)
    """How many candidates it was shown."""

    mode: str | None = None
    """The score scale, where the judge has one: ``1-10`` or ``0-1``."""


class ParseFlags(Config):
    """Print one JSON verdict (scores or choice) or failure a line for judge texts read from FILE."""

    file: Annotated[Path | None, typer.Argument()] = None
    """JSONL with text, n and optionally mode; stdin without it."""
    judge: str = "pointwise"
    """pointwise, pairwise, verifier, or the path of a judge's TOML file."""
    lenient: Annotated[bool, typer.Option("--lenient")] = False
    """Also accept near misses of the format; such verdicts are flagged."""


def parse(flags: ParseFlags) -> None:
    """Run the verb."""
    for number, line in enumerate(_lines(flags.file), 1):
        if line.strip():
            print(json.dumps(_answer(read(_parse_line(line, number), flags.judge, flags.lenient))))


def read(line: ParseLine, judge: str, lenient: bool) -> Outcome:
    """What ``judge`` reads in a text, candidates shown in their own order."""
    options: dict[str, object] = {"lenient": True} if lenient else {}
    if line.mode not in (None, "1-10"):
        options["mode"] = line.mode
    item = Item(
        id="line",
        messages=(Message(role="user", content=""),),
        candidates=(Candidate(text=""),) * line.n,
        reference="",
    )
    draw = Draw(vote=0, seed=0, order=tuple(range(line.n)))
    return build_judge(judge, **options).read(item, draw, [Completion(request_id="line", text=line.text)])


def _answer(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Verdict):
        told: dict[str, Any] = {"scores": outcome.scores} if outcome.choice is None else {"choice": outcome.choice}
        if outcome.breakdown:
            told["breakdown"] = [dict(own) for own in outcome.breakdown]
        return {**told, "flags": list(outcome.flags)}
    return {"failure": {"kind": str(outcome.kind), "detail": outcome.detail}}


def _lines(file: Path | None) -> Iterable[str]:
    if file is None:
        return sys.stdin
    try:
        return file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file)!r} is not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror}") from error


def _parse_line(line: str, number: int) -> ParseLine:
    try:
        return ParseLine.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise InputError(f"line {number} is not JSON: {error}") from error
    except ValidationError as error:
        raise InputError(f"line {number}: {explain(error)}") from error
