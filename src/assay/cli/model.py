"""``assay model``: models and their adapters: looked at, merged for other servers. The flags; ``model_run`` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.core.config import Config
from assay.engines.embedded.config import DEFAULT_MODEL
from assay.engines.embedded.shipped import DEFAULT_ADAPTER

from .declare import verb
from .help import HelpfulCommand


class ShowFlags(Config):
    """Print as JSON where a model is and the hash of its weights, and an adapter's name, digest and settings."""

    model: Annotated[str, typer.Argument()] = DEFAULT_MODEL
    """The bundled one, a hub name or a folder."""
    adapter: str | None = None
    """One of the package by name, a folder in peft's layout, or none; unless said that of the package for the bundled
    model."""


class MergeFlags(Config):
    """Write a model with an adapter in its weights as a folder that SGLang, vLLM and transformers load."""

    out: Annotated[Path, typer.Option("--out", "-o")]
    """A folder that is not there yet."""
    model: str = DEFAULT_MODEL
    """The bundled one, a hub name or a folder."""
    adapter: str = DEFAULT_ADAPTER
    """One of the package by name, or a folder in peft's layout."""
    dtype: Literal["stored", "float32", "bfloat16", "float16"] = "stored"
    """Type of the weights; stored: that of the model's own files."""


class CardFlags(Config):
    """Print the model card of an adapter as Markdown, every figure out of its card.json."""

    adapter: Annotated[str, typer.Argument()] = DEFAULT_ADAPTER
    """One of the package by name, or a folder."""
    into: Path | None = None
    """A Markdown file with the lines <!-- card --> and <!-- /card -->: replace what stands between them."""


model = typer.Typer(
    name="model",
    help="Look at a model and its adapter; merge them for other servers; print the card of the adapter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
model.command("show", cls=HelpfulCommand)(verb(ShowFlags, "model_run:show"))
model.command("merge", cls=HelpfulCommand)(verb(MergeFlags, "model_run:merge"))
model.command("card", cls=HelpfulCommand)(verb(CardFlags, "model_run:card"))
