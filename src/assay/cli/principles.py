"""``assay principles``: what prompts are judged by, stored. The flags; ``principles_run`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field

from assay.core.config import Config

from .declare import JsonObject


class PrinciplesFlags(Config):
    """Write the principles that answers to each prompt in FILE are to be judged by, for assay judge --principles."""

    file: Annotated[str, typer.Argument()]
    """What assay judge takes, candidates or not; with --judged a result file of it."""
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("principles.jsonl")
    """Where the principles go, a prompt a line; beside it <out>.run.parquet, from which a killed run goes on."""
    judged: Annotated[bool, typer.Option("--judged")] = False
    """Ask nobody: take the principles that recorded judgments were made by."""
    right_only: Annotated[bool, typer.Option("--right-only")] = False
    """With --judged: only from verdicts that agree with gold. This looks at the labels."""
    engine: Literal["embedded", "openai", "fake"] = "embedded"
    """Who writes them."""
    model: str | None = None
    """Model: the bundled one, a hub name or a folder."""
    url: str | None = None
    """Base URL of the openai endpoint."""
    api_key: Annotated[str | None, typer.Option(envvar="ASSAY_API_KEY", show_envvar=True)] = None
    """Key of the endpoint."""
    engine_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the engine."""
    sampling: JsonObject = Field(default_factory=dict)
    """JSON: temperature, top_p, top_k, max_new_tokens, stop, ..."""
    field: Annotated[tuple[str, ...], typer.Option("--field", "-f")] = ()
    """name=path of a field: prompt, id; repeatable."""
    language: Literal["en", "zh"] = "en"
    """Language of the request."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many items."""
    concurrency: int = Field(default=32, ge=1)
    """Prompts at the same time."""
    deadline_s: float = Field(default=300.0, gt=0)
    """Seconds that one prompt may take, retries included."""
    reask: int = Field(default=1, ge=0)
    """How often a text without principles is asked again."""
    seed: int = Field(default=0, ge=0)
    """Another seed gives other principles."""
    fresh: Annotated[bool, typer.Option("--fresh")] = False
    """Start over: delete the run file first."""
    retry_failed: Annotated[bool, typer.Option("--retry-failed")] = False
    """Ask again where an earlier call failed."""
