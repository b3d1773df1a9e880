"""The prompt data: rows of a file as prompts of a run. Names of the fields as the run scripts of the seeds say them.

Owns: what a row must hold. Does not own: reading files (``data``), the order of drawing (``cursor``), tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import Message
from assay.data import open_source
from assay.data.cells import from_cell
from assay.data.lookup import closest, find, paths
from assay.data.records import BadRecord, RowError
from assay.data.reference import read_reference
from assay.data.shapes import detect
from assay.data.turns import read_turns

from .sample import Prompt, PromptText

LABEL = "label"
VERL_LABEL = "reward_model.ground_truth"
VERL_METADATA = ("data_source", "ability", "extra_info")


class DataConfig(Config):
    """Where prompts come from."""

    prompt_data: str | None = None
    """File (JSONL, JSON, CSV, Parquet) or hub dataset of the prompts to train on."""
    input_key: str = "prompt"
    """Field of the prompt: a text, or a chat list of role and content."""
    label_key: str | None = LABEL
    """Field of the gold answer; a dotted path reaches into objects. Where rows have no label, reward_model.ground_truth
    of verl's form is taken."""
    metadata_key: str = "metadata"
    """Field of an object, or of one as JSON text, that reward functions see as sample.metadata. Of verl's form, without
    it: data_source, ability and extra_info."""
    apply_chat_template: bool = False
    """Turn a text prompt into one user message for the policy's chat template; chat lists always go through it."""
    rollout_shuffle: bool = True
    """Draw the rows in a new seeded order in every epoch; off draws them as they stand."""
    rollout_max_prompt_len: int | None = Field(default=None, ge=1)
    """Leave out prompts with more tokens; without it such a prompt is an error before the run starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFlags:
    """By which flags a set of prompts is given: what an error tells to say otherwise."""

    data: str = "--prompt-data"
    input_key: str = "--input-key"
    label_key: str = "--label-key"
    metadata_key: str = "--metadata-key"


TRAINING = DataFlags()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One usable row.

    ``where``: its flag, file and line. ``unlabelled``: why it has no label; empty where it has. ``tokens``: how many
    the prompt has; 0 before they are counted.
    """

    prompt: PromptText
    label: str | None
    metadata: Mapping[str, Any]
    where: str = ""
    unlabelled: str = ""
    tokens: int = 0

    def drawn(self, ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=self.prompt, label=self.label, metadata=self.metadata)


def load_prompts(source: str, config: DataConfig, flags: DataFlags = TRAINING) -> list[Row]:
    """All rows of a source.

    Raises:
        InputError: it cannot be read or holds none, or a row is broken or lacks a field; the message names flag,
            source, line, field and the fields that there are.
    """
    rows: list[Row] = []
    try:
        opened = open_source(source)
        for record in opened.records:
            where = f"{source!r}, line {record.line}"
            if isinstance(record, BadRecord):
                raise InputError(f"{where}: {record.reason}")
            row = read_row(record.row, config, where, flags, cells=opened.cells)
            rows.append(replace(row, where=f"{flags.data} {where}"))
        if not rows:
            raise InputError(f"{source!r} holds no prompts")
    except InputError as error:
        raise InputError(f"{flags.data} {error}") from error
    return rows


def read_row(
    row: Mapping[str, Any], config: DataConfig, where: str, flags: DataFlags = TRAINING, *, cells: bool = False
) -> Row:
    """A row as published by the seeds' data sets (dapo-math-17k, aime-2024; in slime's form or in verl's), or of the
    user's own.

    Args:
        cells: values are text cells (CSV): a list or an object stands there as JSON text.

    Raises:
        InputError: a field is missing or is of a wrong kind.
    """
    try:
        prompt = _at(row, config.input_key, cells)
        if prompt is None:
            raise RowError(_no_field(row, config.input_key, flags.input_key, "prompt"))
        label, unlabelled = _label(row, config, flags, cells)
        return Row(
            prompt=_prompt(from_cell(prompt, '[{"') if cells else prompt, where, config),
            label=label,
            metadata=_metadata(row, config, flags, cells),
            where=where,
            unlabelled=unlabelled,
        )
    except RowError as error:
        raise InputError(f"{where}: {error}") from error


def _at(row: Mapping[str, Any], path: str, cells: bool) -> Any:
    """The value at a path, which in a table also reaches into an object that stands there as JSON text."""
    found = find(row, path)
    if found is None and cells:
        return find({name: from_cell(cell, "{") for name, cell in row.items()}, path)
    return found


def _label(row: Mapping[str, Any], config: DataConfig, flags: DataFlags, cells: bool) -> tuple[str | None, str]:
    """The gold answer, or why there is none."""
    path = config.label_key
    if path is None:
        return None, "no field is named for it"
    if path == LABEL and _at(row, LABEL, cells) is None:
        path = VERL_LABEL
    value = _at(row, path, cells)
    try:
        label = read_reference(from_cell(value, '["') if cells else value, path)
    except RowError as error:
        raise RowError(f"{error} ({flags.label_key}); what else a reward looks at goes into metadata") from error
    return label, "" if label is not None else _no_field(row, config.label_key or path, flags.label_key, "reference")


def _metadata(row: Mapping[str, Any], config: DataConfig, flags: DataFlags, cells: bool) -> Mapping[str, Any]:
    found = _at(row, config.metadata_key, cells)
    if found is None or found == "":
        if _at(row, VERL_LABEL, cells) is None:
            return {}
        # What verl's rows say beside prompt and gold; a reward function finds it under verl's own names.
        told = {name: _at(row, name, cells) for name in VERL_METADATA}
        return {name: from_cell(value, "{") if cells else value for name, value in told.items() if value is not None}
    value = from_cell(found, "{")
    if not isinstance(value, Mapping):
        raise RowError(f"{config.metadata_key!r} ({flags.metadata_key}) must be an object, got {value!r:.80}")
    return dict(cast("Mapping[str, Any]", value))


def _no_field(row: Mapping[str, Any], path: str, flag: str, role: Literal["prompt", "reference"]) -> str:
    """That ``path`` is not there, and what there is that may be meant."""
    there = list(paths(row))
    shape = detect({name: value for name, value in row.items() if name != path})
    meant = None if shape is None else {"prompt": shape.fields.prompt, "reference": shape.fields.reference}[role]
    meant = meant or closest(path, [name for name in there if name != path])
    hint = f"; did you mean {flag} {meant}?" if meant else ""
    what = "is empty" if path in there else "is not there"
    return f"the field {path!r} ({flag}) {what}; there are {', '.join(there)}{hint}"


def _prompt(value: Any, where: str, config: DataConfig) -> PromptText:
    if isinstance(value, str):
        if not value.strip():
            raise RowError(f"{config.input_key!r} is empty")
        return (Message(role="user", content=value),) if config.apply_chat_template else value
    return read_turns(value, f"{where}: {config.input_key!r}")
