"""Flags that say who judges and how it is asked: the same for every verb that judges a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, Field

from assay.core.config import Config

from .declare import JsonObject


class JudgeChoice(Config):
    """The judge, and how its texts are read."""

    judge: str | None = None
    """verifier, pointwise (unless said), pairwise, tokenprob, rubric, math, or the path of a judge's TOML file."""
    choices: Annotated[bool, typer.Option("--choices")] = False
    """Read the probabilities of the judge's labels instead of a text."""
    lenient: Annotated[bool, typer.Option("--lenient")] = False
    """Accept near misses of the verdict's format, and flag them."""
    language: Literal["en", "zh"] = "en"
    """Language of the judge's prompt."""
    mode: Literal["1-10", "0-1"] = "1-10"
    """Scale of the pointwise judge."""
    principles: Path | None = None
    """Principles for the pointwise judge: a TOML file for all items, or what assay principles wrote."""
    judge_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the judge, e.g. {"both_orders": true}."""


class EngineFlags(Config):
    """Who answers for the judge."""

    engine: Literal["embedded", "openai", "fake", "rule", "service"] | None = None
    """Who answers; without it a rule judge takes rule, any other embedded."""
    model: str | None = None
    """Judge model: the bundled one, a hub name or a folder."""
    adapter: str | None = None
    """LoRA adapter on an embedded model: one of the package by name, a folder in peft's layout, or none; unless said
    that of the package, where the model is the bundled one and the adapter was made for the judge."""
    url: str | None = None
    """Base URL of the openai endpoint or of the judge service."""
    api_key: Annotated[str | None, typer.Option(envvar="ASSAY_API_KEY", show_envvar=True)] = None
    """Key of the endpoint or service."""
    route_key: str | None = None
    """Instance of the judge service."""
    engine_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the engine."""
    sampling: JsonObject = Field(default_factory=dict)
    """JSON: temperature, top_p, top_k, max_new_tokens, stop, ..."""


class RecordFlags(Config):
    """How the records of a file become items."""

    field: Annotated[tuple[str, ...], typer.Option("--field", "-f")] = ()
    """name=path of a field: prompt, candidates, reference, gold, authors, id; repeatable."""


class PaceFlags(Config):
    """How a run of many judgments goes, and goes on."""

    concurrency: int = Field(default=32, ge=1)
    """Judgments at the same time."""
    deadline_s: float = Field(default=300.0, gt=0)
    """Seconds that one judgment may take, retries included."""
    reask: int = Field(default=1, ge=0)
    """How often a text without a verdict is asked again."""
    seed: int = Field(default=0, ge=0)
    """Another seed gives independent draws."""
    cache: Path | None = None
    """SQLite file of verdicts known from earlier runs."""
    no_dedup: Annotated[bool, typer.Option("--no-dedup")] = False
    """Ask equal questions again; the verdicts stay the same."""
    fresh: Annotated[bool, typer.Option("--fresh")] = False
    """Start over: delete the result file first."""
    retry_failed: Annotated[bool, typer.Option("--retry-failed")] = False
    """Judge again what failed in an earlier call."""


class AskingFlags(PaceFlags, RecordFlags, EngineFlags, JudgeChoice):
    """The judge, who answers for it, and how a run of many judgments goes."""


ASKING_PANELS: dict[type[BaseModel], str] = {
    JudgeChoice: "Judge",
    EngineFlags: "Who answers",
    RecordFlags: "Data",
    PaceFlags: "How the run goes",
}
"""Headings of the help."""
