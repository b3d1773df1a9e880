"""The recipes and the run scripts of the repository, and what the command line makes of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assay.cli.train_run
from assay.cli.main import main
from assay.cli.train import TrainFlags
from assay.placement import PlacementPlan, load_plan
from assay.rl.config import TrainConfig

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "generate_reward_model"
SCRIPTS = sorted(EXAMPLE.glob("run-*.sh"))
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))

STUB = f"""#!{sys.executable}
import json, sys
print(json.dumps(sys.argv[1:]))
"""


def arguments(script: Path, folder: Path, *more: str) -> list[str]:
    """What ``assay`` is called with by a script, as bash hands it over; none of the user's variables are set."""
    stub = folder / "bin" / "assay"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(STUB)
    stub.chmod(0o755)
    environment = {"PATH": f"{stub.parent}:{os.defpath}"}
    done = subprocess.run(
        ["bash", script, *more], env=environment, cwd=folder, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def trained(monkeypatch: pytest.MonkeyPatch, *said: str) -> TrainConfig:
    """The settings that ``assay train`` would run with."""
    found: list[TrainFlags] = []
    monkeypatch.setattr(assay.cli.train_run, "train_run", found.append)
    _called(monkeypatch, "train", *said)
    (flags,) = found
    names = TrainConfig.model_fields.keys() & flags.model_fields_set
    return TrainConfig(**{name: getattr(flags, name) for name in names})


def planned(monkeypatch: pytest.MonkeyPatch, *said: str) -> PlacementPlan:
    """What ``assay plan --json`` prints."""
    return load_plan(json.loads(_called(monkeypatch, "plan", *said, "--json")))


def ranges(plan: PlacementPlan) -> dict[str, tuple[int, int]]:
    """First and last GPU of everybody who has one."""
    return {name: (claim.gpus[0], claim.gpus[-1]) for name, claim in plan.claims.items() if claim.gpus}


def _called(monkeypatch: pytest.MonkeyPatch, *said: str) -> str:
    out = io.StringIO()
    monkeypatch.setattr("sys.argv", ["assay", *said])
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main()
    return out.getvalue()
