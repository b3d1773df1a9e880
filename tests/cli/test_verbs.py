"""Every verb is listed by its own first line, and help imports no more than it shows."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest
import typer
from typer.testing import CliRunner

from assay.cli.main import app
from assay.cli.verbs import VERBS


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_listed_by_the_first_line_of_its_help(name: str) -> None:
    module, _, flags = VERBS[name].flags.partition(":")
    kind = vars(import_module(f"assay.cli.{module}"))[flags]
    said = kind.info.help if isinstance(kind, typer.Typer) else inspect.getdoc(kind)
    assert (said or "").split("\n\n")[0].replace("\n", " ") == VERBS[name].about
    told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert told.exit_code == 0
    assert VERBS[name].about in " ".join(told.output.split())
    assert f"assay {name}" in told.output or f"root {name}" in told.output


def test_help_lists_all_verbs() -> None:
    told = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert told.exit_code == 0
    assert all(f" {name} " in told.output for name in VERBS)


def test_a_verb_that_is_not_there_is_refused_with_the_nearest() -> None:
    told = CliRunner().invoke(app, ["trian"])
    assert told.exit_code == 2
    assert "train" in told.output


def modules(*arguments: str) -> set[str]:
    """What a process has imported that ran the command."""
    code = (
        "import sys\n"
        f"sys.argv = ['assay', *{list(arguments)!r}]\n"
        "from assay.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_no_verb() -> None:
    seen = modules("--help")
    assert not {"pyarrow", "numpy", "aiohttp", "assay.rl.config", "assay.judges", "assay.placement"} & seen
    assert not {f"assay.cli.{one.flags.partition(':')[0]}" for one in VERBS.values()} & seen


def test_the_help_of_serve_imports_nothing_of_training() -> None:
    assert not {"pyarrow", "numpy", "aiohttp", "assay.rl.config", "assay.cli.train"} & modules("serve", "--help")
