"""Help under headings, with no name cut off on a narrow terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from assay.cli.declare import headings
from assay.cli.main import app
from assay.cli.verbs import VERBS, whole


def commands() -> Iterator[tuple[str, ...]]:
    for name, one in VERBS.items():
        if one.run:
            yield (name,)
        else:
            yield from ((name, below) for below in whole(name).commands)


def command(names: tuple[str, ...]) -> Any:
    found = whole(names[0])
    return found.commands[names[1]] if len(names) > 1 else found


def told(names: tuple[str, ...], columns: int) -> str:
    done = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": str(columns), "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("names", list(commands()), ids=" ".join)
def test_no_name_is_cut_at_80_columns(names: tuple[str, ...]) -> None:
    shown = told(names, 80)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    words = set(re.findall(r"--?[a-z][a-z0-9-]*", shown))
    for parameter in command(names).params:
        if any(one.startswith("-") for one in parameter.opts):
            assert words.issuperset([*parameter.opts, *parameter.secondary_opts])
        assert (parameter.help or "").split()[0] in shown


FREE = {"config", "dump-config", "help", "out", "limit", "format", "log-level", "prompts-only", "easy-from", "recorded"}
"""Flags of the verb itself, which stand before all headings."""


@pytest.mark.parametrize("names", [(one,) for one in ("train", "sft", "rm", "serve", "rft")] + [("bench", "run")])
def test_every_setting_stands_under_a_heading(names: tuple[str, ...]) -> None:
    alone = {
        max(parameter.opts, key=len).lstrip("-")
        for parameter in command(names).params
        if parameter.rich_help_panel is None and parameter.opts[0].startswith("-")
    }
    assert alone <= FREE
    shown = re.findall(r"╭─ (.*?) ─", told(names, 80))
    assert len(shown) == len(set(shown)) >= 6


def test_headings_come_in_the_order_that_is_said() -> None:
    shown = re.findall(r"╭─ (.*?) ─", told(("train",), 80))
    assert shown[:5] == ["Options", "The run", "Model", "Prompts", "Rollouts"]
    assert shown.index("Optimizer") < shown.index("Checkpoints") < shown.index("Placement on GPUs")


def test_a_flag_stands_where_it_is_declared() -> None:
    class Base(BaseModel):
        one: int = 1
        two: int = 2

    class Middle(Base):
        two: int = 3
        three: int = 4

    class Beside(BaseModel):
        three: int = 5
        four: int = 6

    class Flags(Middle, Beside):
        five: int = 7

    found = headings(Flags, {Base: "B", Middle: "M", Beside: "S"})
    assert found == {"one": "B", "two": "B", "three": "M", "four": "S"}


def test_wide_terminals_have_names_and_words_side_by_side() -> None:
    line = next(line for line in told(("train",), 160).splitlines() if "--max-tokens-per-micro-batch" in line)
    assert "Most packed tokens" in line
