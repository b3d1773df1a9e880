"""``assay data``: data to train judges on: generated, looked at, checked. The flags; ``data_run`` and
``data_answer_run`` do the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field

from assay.core.config import Config
from assay.synthetic.oracle import Target

from .declare import JsonObject, verb
from .help import HelpfulCommand


class GenerateFlags(Config):
    """Write items whose gold a rule decided, and with --judge the right text of that judge for each."""

    out: Annotated[Path, typer.Option("--out", "-o")]
    """Where they go: .jsonl or .parquet; a canonical row an item."""
    fresh: Annotated[bool, typer.Option("--fresh")] = False
    """Write over a file that is there."""
    count: Annotated[int, typer.Option("--count", "-n")] = Field(default=1000, ge=1)
    """How many items."""
    start: int = Field(default=0, ge=0)
    """Place of the first one in the endless sequence; slices join up."""
    kinds: Annotated[tuple[str, ...], typer.Option("--kind", "-k")] = ()
    """A kind or a group (answers, problems, instructions); repeatable; all without it. fraction:3: three shares."""
    each: Annotated[bool, typer.Option("--each")] = False
    """As many of each --kind that is named, in turn: a group is one of them, however many kinds it has."""
    worked: Path | None = None
    """A file of questions and worked solutions that end in #### number (GSM8K's): items out of these, as a kind of
    their own: the only one without --kind, else one more."""
    shapes: Annotated[tuple[Literal["single", "pair", "several"], ...], typer.Option("--shape")] = ()
    """One candidate (gold 0 or 1), two, or four to eight; repeatable; all without it."""
    languages: Annotated[tuple[Literal["en", "zh"], ...], typer.Option("--language")] = ()
    """Repeatable; both without it."""
    side: Literal["train", "held"] = "train"
    """Held: other question texts, families, names and numbers than train, to evaluate on."""
    seed: int = Field(default=0, ge=0)
    """Another seed gives other items."""
    judge: Literal["verifier", "pointwise", "pairwise"] | None = None
    """Add messages and completion: what this judge asks, and the right text; items that it cannot read are left out."""
    judge_options: JsonObject = Field(default_factory=dict)
    """JSON: options of that judge, e.g. {"forms": true}; its language is that of the item unless said."""
    target: Target = "full"
    """With --judge pointwise or pairwise: all that its prompt asks for; the box alone; or, before the box, the normal
    forms of the reference and of each answer in a closed thought."""
    principles: Path | None = None
    """With --judge pointwise: a TOML file of principles that it is given, as with assay judge; its texts write none."""


class StatsFlags(Config):
    """Count items and words by source; how often the best answer is the longest, or stands first."""

    sources: Annotated[tuple[str, ...], typer.Argument()]
    """Files, hub datasets, published sets by name: helpsteer2, helpsteer3, ultrafeedback, skywork, offsetbias, hh; or
    NAME=FILE for a copy of one, also of pandalm."""
    field: Annotated[tuple[str, ...], typer.Option("--field", "-f")] = ()
    """name=path of a field, for sources of your own; repeatable."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many items of each source."""


class CheckFlags(StatsFlags):
    """Find doubles, items without a unique best, and prompts of benchmarks; write what is left with --out."""

    against: Annotated[tuple[str, ...], typer.Option("--against", "-a")] = ()
    """A benchmark: a file or a hub dataset whose prompts must not be trained on; repeatable."""
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None
    """Where the clean items go, as JSONL."""
    shown: int = Field(default=5, ge=0)
    """So many overlaps are shown."""


class AnswerFlags(Config):
    """Have a model answer PROMPTS as they are: rows for assay rft --general and assay sft, distilled from it."""

    prompts: Annotated[str, typer.Argument()]
    """A file with prompt or messages; a row that has an answer keeps it."""
    out: Annotated[Path, typer.Option("--out", "-o")]
    """Where the rows go, as JSONL; the answers are kept beside it, as Parquet, and gone on with."""
    engine: Literal["embedded", "openai", "fake"] = "embedded"
    """Who answers."""
    model: str | None = None
    """The bundled model, a hub name or a folder."""
    adapter: str = "none"
    """LoRA adapter on an embedded model: one of the package by name, a folder in peft's layout, or none."""
    url: str | None = None
    """Base URL of the openai endpoint."""
    api_key: Annotated[str | None, typer.Option(envvar="ASSAY_API_KEY", show_envvar=True)] = None
    """Key of the endpoint."""
    engine_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the engine."""
    sampling: JsonObject = Field(default_factory=lambda: {"temperature": 0.7})
    """JSON: temperature, top_p, top_k, max_new_tokens, stop, ..."""
    concurrency: int = Field(default=32, ge=1)
    """Answers at the same time."""
    deadline_s: float = Field(default=300.0, gt=0)
    """Seconds that one answer may take, retries included."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other answers."""
    fresh: Annotated[bool, typer.Option("--fresh")] = False
    """Start over: delete the answers first."""


data = typer.Typer(
    name="data",
    help="Generate, look at and check data to train judges on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data.command("generate", cls=HelpfulCommand)(verb(GenerateFlags, "data_run:generate_data"))
data.command("stats", cls=HelpfulCommand)(verb(StatsFlags, "data_run:show_stats"))
data.command("check", cls=HelpfulCommand)(verb(CheckFlags, "data_run:check_data"))
data.command("answer", cls=HelpfulCommand)(verb(AnswerFlags, "data_answer_run:answer_prompts"))
