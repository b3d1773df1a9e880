"""``assay bench run``: the flags; ``bench_run_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, Field

from assay.bench.running.passes import RunPlan
from assay.core.config import Config

from .asking import ASKING_PANELS, AskingFlags
from .declare import JsonObject
from .judge import CostFlags


class WhoFlags(Config):
    """Who answers, where it is no judge with an engine."""

    reward: str | None = None
    """Instead of a judge: a reward model with one logit, by its model: a published one, or what assay rm wrote."""
    head: Literal["bt", "pairrm", "cloud"] | None = None
    """What the reward model is shown: bt an answer, pairrm two answers, cloud an answer with the critique that the
    engine writes. As the folder of the model says unless said, bt where it says nothing."""
    reward_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the reward model, e.g. {"kind": "vllm", "base_url": "http://host:8000"}; without a kind it
    is embedded."""
    table: tuple[str, ...] = ()
    """Instead of a judge: a table of scores or decisions, one row an item (CSV, JSONL, Parquet); NAME=FILE of several
    benchmarks."""
    scalar: Annotated[bool, typer.Option("--scalar")] = False
    """The scores of --table are those of a scalar reward model, whose ties some benchmarks count differently."""
    meta: str | None = None
    """Meta RM that chooses the votes that count: a model with one logit; with --engine service, its name there."""
    meta_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the meta RM; without a kind it is embedded."""


class DataFlags(Config):
    """Where the records come from."""

    data: tuple[str, ...] = ()
    """File, folder or zip in the official format, or hub:owner/name@revision:split; NAME=PATH of several benchmarks.
    Without it, or as hub, the benchmark's own datasets on the hub, at the pinned revision."""
    revision: tuple[str, ...] = ()
    """Revision of the hub datasets, instead of the pinned one; DATASET=REVISION of one of several datasets."""
    password: str | None = None
    """Of the zip, instead of the one that its authors publish."""


RUN_PANELS: dict[type[BaseModel], str] = {
    **ASKING_PANELS,
    DataFlags: "Data",
    WhoFlags: "Who answers",
    RunPlan: "How much, and how it counts",
    CostFlags: "Cost",
}
"""Headings of the help."""


class BenchRunFlags(CostFlags, RunPlan, WhoFlags, DataFlags, AskingFlags):
    """Measure a judge on benchmarks: the official score first, with intervals and what stands beside it."""

    names: Annotated[tuple[str, ...], typer.Argument()] = ()
    """Benchmarks (assay bench list)."""
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("bench-run")
    """Folder of the run; an unfinished run is gone on with."""
    judge: str | None = None
    """verifier, pointwise (unless said), pairwise, tokenprob, rubric, math, the path of a judge's TOML file, or a
    script of known quality: scripted:perfect, scripted:inverted, scripted:constant, scripted:first."""
    reask: int = Field(default=0, ge=0)
    """How often a text without a verdict is asked again; a benchmark counts it as it is unless said."""
