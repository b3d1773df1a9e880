"""What a run left behind: whether it is what another one left, bit by bit, or, where rollouts run ahead, by rules."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.cli.recipe import read_recipe
from assay.rl.config import TrainConfig
from assay.rl.record import FILTERED, sample_files
from assay.tracking.lines import read_lines
from assay.training import folders

from .modes import STEPS


def metrics(run: Path) -> list[dict[str, Any]]:
    """The lines, without what tells of the machine: times, and the bytes that came free at a sleep."""
    return [
        {name: value for name, value in line.items() if not name.startswith(("time/", "memory/"))}
        for line in read_lines(run / "metrics.jsonl")
    ]


def trained(run: Path) -> bool:
    """Whether most steps changed the weights."""
    moved = [line.get("train/grad_norm") or 0.0 for line in metrics(run) if line["step"] >= 0]
    return sum(norm > 0 for norm in moved) > len(moved) / 2


def tables(run: Path) -> dict[str, pa.Table]:
    """Every Parquet file of the run."""
    return {str(path.relative_to(run)): pq.read_table(path) for path in sorted(run.rglob("*.parquet"))}


def weights(recipe: Path, run: Path) -> str:
    """A hash of the weights as an engine would load them, from the last checkpoint."""
    from assay.training.trainer import Trainer

    config = TrainConfig(**read_recipe(recipe)).trainer()
    trainer = Trainer(config.model_copy(update={"load": str(run / "checkpoints")}))
    out = run.with_name(run.name + ".export")
    trainer.export(out)
    return _hash(sorted(out.glob("*.safetensors")))


def checkpoint(run: Path) -> str:
    """A hash of the last checkpoint: weights, optimizer, random states, what the loop remembers."""
    last = folders.checkpoints(run / "checkpoints")[-1]
    return _hash(sorted(path for path in last.rglob("*") if path.is_file() and path.name != ".metadata"))


def differences(run: Path, recipe: Path, whole: Path, whole_recipe: Path) -> dict[str, bool]:
    """What is equal."""
    ours, theirs = tables(run), tables(whole)
    return {
        "metrics": metrics(run) == metrics(whole),
        "samples": ours.keys() == theirs.keys() and all(ours[name].equals(theirs[name]) for name in ours),
        "weights": weights(recipe, run) == weights(whole_recipe, whole),
        "checkpoint": checkpoint(run) == checkpoint(whole),
    }


def accounts(run: Path, staleness: int) -> dict[str, bool]:
    """For rollouts that run ahead: nothing twice, nothing lost, nothing too old; out of the files alone."""
    rows = [row for path, _ in sample_files(run / "samples") for row in _rows(path)]
    told = Counter((row["group"], row["index"]) for row in rows)
    last = folders.checkpoints(run / "checkpoints")[-1]
    source = json.loads((last / "state.json").read_text())["extra"]["source"]
    groups = {group for group, _ in told}
    outstanding = set(source["returned"])
    ages = [row["step"] - min(_version(v) for v in row["weight_versions"]) for row in rows if row["left_out"] is None]
    trained = [row for row in rows if row["left_out"] != FILTERED]
    steps = [line["step"] for line in metrics(run)]
    return {
        "each step once": steps == list(range(STEPS)),
        "trained once": max(told.values()) == 1 and len(trained) == len({(r["group"], r["index"]) for r in trained}),
        "none lost": groups | outstanding == set(range(source["next"])) and not groups & outstanding,
        "staleness": max(ages) <= staleness and min(ages) >= 0,
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from pq.read_table(path, columns=["step", "group", "index", "left_out", "weight_versions"]).to_pylist()


def _version(version: str) -> int:
    """Updates that the weights had; a step is one update here."""
    return int(version.rsplit(".", 1)[1])


def _hash(files: list[Path]) -> str:
    found = hashlib.sha256()
    for path in files:
        found.update(path.read_bytes())
    return found.hexdigest()
