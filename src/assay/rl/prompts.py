"""The prompt data: rows of a file as prompts of a run. Names of the fields as the run scripts of the seeds say them.

Owns: what a row must hold. Does not own: reading files (``data``), the order of drawing (``cursor``), tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Message
from assay.data import open_source
from assay.data.records import BadRecord

from .sample import Prompt, PromptText


class DataConfig(Config):
    """Where prompts come from."""

    prompt_data: str | None = None
    """File (JSONL, JSON, CSV, Parquet) or hub dataset of the prompts to train on."""
    input_key: str = "prompt"
    """Field of the prompt: a text, or a chat list of role and content."""
    label_key: str | None = "label"
    """Field of the gold answer; a dotted path reaches into objects."""
    metadata_key: str = "metadata"
    """Field of an object that reward functions see as sample.metadata."""
    apply_chat_template: bool = False
    """Turn a text prompt into one user message for the policy's chat template; chat lists always go through it."""
    rollout_shuffle: bool = True
    """Draw the rows in a new seeded order in every epoch; off draws them as they stand."""
    rollout_max_prompt_len: int | None = Field(default=None, ge=1)
    """Leave out prompts with more tokens; without it such a prompt is an error before the run starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One usable row."""

    prompt: PromptText
    label: str | None
    metadata: Mapping[str, Any]

    def drawn(self, ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=self.prompt, label=self.label, metadata=self.metadata)


def load_prompts(source: str, config: DataConfig, *, need_label: bool = False) -> list[Row]:
    """All rows of a source.

    Raises:
        InputError: a row is broken or lacks a field; the message names source, line and the fields that there are.
    """
    rows: list[Row] = []
    for record in open_source(source).records:
        where = f"{source!r}, line {record.line}"
        if isinstance(record, BadRecord):
            raise InputError(f"{where}: {record.reason}")
        rows.append(read_row(record.row, config, where, need_label=need_label))
    if not rows:
        raise InputError(f"{source!r} holds no prompts")
    return rows


def read_row(row: Mapping[str, Any], config: DataConfig, where: str, *, need_label: bool = False) -> Row:
    """A row as published by the seeds' data sets (dapo-math-17k, aime-2024), or of the user's own.

    Raises:
        InputError: a field is missing or is of a wrong kind.
    """
    prompt = _at(row, config.input_key)
    if prompt is None:
        raise InputError(f"{where}: no field {config.input_key!r} (--input-key); there are {', '.join(row)}")
    label = None if config.label_key is None else _at(row, config.label_key)
    if label is None and need_label:
        raise InputError(f"{where}: no field {config.label_key!r} (--label-key); there are {', '.join(row)}")
    metadata = _at(row, config.metadata_key)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InputError(f"{where}: {config.metadata_key!r} (--metadata-key) must be an object, got {metadata!r:.80}")
    return Row(
        prompt=_prompt(prompt, where, config),
        label=None if label is None else str(label),
        metadata=dict(cast("Mapping[str, Any]", metadata or {})),
    )


def _at(row: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; a key that holds the dot itself comes first."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, Any]", value).get(part)
    return value


def _prompt(value: Any, where: str, config: DataConfig) -> PromptText:
    if isinstance(value, str):
        if not value.strip():
            raise InputError(f"{where}: {config.input_key!r} is empty")
        return (Message(role="user", content=value),) if config.apply_chat_template else value
    if isinstance(value, list) and value:
        return tuple(_turn(turn, where, config) for turn in cast("Sequence[Any]", value))
    raise InputError(f"{where}: {config.input_key!r} must be a text or a list of messages, got {value!r:.80}")


def _turn(turn: Any, where: str, config: DataConfig) -> Message:
    if isinstance(turn, Mapping):
        fields = cast("Mapping[str, Any]", turn)
        role, content = fields.get("role"), fields.get("content")
        if isinstance(role, str) and isinstance(content, str):
            return Message(role=role, content=content)
    raise InputError(f"{where}: a turn of {config.input_key!r} needs a role and a text, got {turn!r:.80}")
