"""The samples of a run as Parquet: ``samples/step-000012.parquet``, one row an answer, with what it earned and why.

A file is whole or not there, it is on the disk before the step's checkpoint is, and files of steps that are made again
go: after a kill nothing is doubled and nothing lost. What local judges said in full stands in the recorder's files
(``scoring``); here it is the text that the reward carries.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from assay.core.config import Config
from assay.core.errors import OutputError
from assay.core.files import PARTIAL, whole
from assay.core.types import Failure
from assay.tracking.lines import FIX

from .advantages.group import GroupAdvantages
from .sample import Group, Sample
from .step import StepResult

FOLDER = "samples"
FILTERED = "filtered"
"""``left_out`` of the answers of groups that the dynamic filter dropped."""
_FILE = re.compile(r"step-(\d+)\.parquet")

COLUMNS = pa.schema(
    [
        ("step", pa.int64()),
        ("group", pa.int64()),
        ("index", pa.int64()),
        ("prompt", pa.string()),
        ("label", pa.string()),
        ("metadata", pa.string()),
        ("response", pa.string()),
        ("status", pa.string()),
        ("reward", pa.float64()),
        ("parts", pa.string()),
        ("judge", pa.string()),
        ("judge_text", pa.string()),
        ("failed_at", pa.string()),
        ("failure_kind", pa.string()),
        ("failure_detail", pa.string()),
        ("advantage", pa.float64()),
        ("left_out", pa.string()),
        ("prompt_ids", pa.list_(pa.int32())),
        ("response_ids", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("log_probs", pa.list_(pa.float32())),
        ("weight_versions", pa.list_(pa.string())),
    ]
)
"""``group``: ordinal of the prompt. ``failed_at``: ``rollout`` or ``judge``. ``left_out``: why there is no advantage.
``metadata`` and ``parts`` (the further numbers of a reward) are JSON."""


class RecordConfig(Config):
    """What is kept of the answers."""

    record_interval: int = Field(default=1, ge=0)
    """Keep the answers of every so many steps as Parquet; 0 keeps none."""


class SampleRecord:
    """``Observer``: writes the samples of the steps that are due."""

    def __init__(self, run: Path, config: RecordConfig | None = None) -> None:
        self.folder = run / FOLDER
        self._interval = (config or RecordConfig()).record_interval

    async def after(self, result: StepResult) -> Mapping[str, float]:
        """Raises OutputError: the file could not be written; nothing else is touched."""
        due = self._interval and result.step % self._interval == 0
        if due and (result.groups or result.filtered):
            await self.write(result)
        return {}

    async def write(self, result: StepResult) -> None:
        """Write the samples of a step. Raises as ``after``."""
        await asyncio.to_thread(write_samples, self.path(result.step), list(step_rows(result)))

    async def close(self) -> None:
        """Nothing is open between steps."""

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}.parquet"

    def resume(self, step: int) -> None:
        """Remove what was written of ``step`` and later: a run that goes on makes those steps again.

        Raises:
            OutputError: a file cannot be removed.
        """
        remove_samples(self.folder, step)


def remove_samples(folder: Path, step: int) -> None:
    """Remove the files of ``step`` and later from a folder, and what a kill left half written.

    Raises:
        OutputError: a file cannot be removed.
    """
    try:
        for path in (*(path for path, number in sample_files(folder) if number >= step), *folder.glob(f"*{PARTIAL}")):
            path.unlink()
    except OSError as error:
        raise OutputError(f"cannot remove old samples in {str(folder)!r}: {error.strerror or error}") from error


def sample_files(folder: Path) -> list[tuple[Path, int]]:
    """The files of samples in a folder with their steps, in order; none where there is no folder."""
    found = [(path, _FILE.fullmatch(path.name)) for path in folder.glob("*.parquet")]
    return sorted(((path, int(match[1])) for path, match in found if match), key=lambda one: one[1])


def write_samples(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as one file, all or nothing; it survives a loss of power once this returns.

    Raises:
        OutputError: the disk is full or may not be written to.
    """
    with whole(path, durable=True, what="the samples", fix=FIX) as partial:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=COLUMNS), partial, compression="zstd")


def step_rows(result: StepResult) -> Iterator[dict[str, Any]]:
    """The rows of a step: its groups in order, then those that the filter dropped."""
    for group, found in zip(result.groups, result.advantages or [None] * len(result.groups), strict=True):
        yield from group_rows(result.step, group, found)
    for group in result.filtered:
        yield from ({**row, "left_out": FILTERED} for row in group_rows(result.step, group))


def group_rows(step: int, group: Group, found: GroupAdvantages | None = None) -> Iterator[dict[str, Any]]:
    """A row per sample of the group, in the columns of ``COLUMNS``."""
    for place, sample in enumerate(group.samples):
        advantage = None if found is None else found.advantages[place]
        reason = None if found is None else found.reasons[place]
        told = {"advantage": advantage, "left_out": None if reason is None else str(reason)}
        yield {"step": step, **_row(sample), **told}


def _row(sample: Sample) -> dict[str, Any]:
    reward = sample.reward
    failure = sample.failure or (None if reward is None else reward.failure)
    return {
        "group": sample.group_index,
        "index": sample.index,
        "prompt": _text(_prompt(sample)),
        "label": None if sample.label is None else _text(sample.label),
        "metadata": _json(sample.metadata),
        "response": _text(sample.response),
        "status": str(sample.status),
        "reward": None if reward is None else reward.value,
        "parts": "" if reward is None else _json(reward.parts),
        "judge": "" if reward is None else reward.judge,
        "judge_text": _text("" if reward is None else reward.text or ("" if failure is None else failure.text)),
        "failed_at": "" if failure is None else "rollout" if sample.failure is not None else "judge",
        **_failure(failure),
        "prompt_ids": sample.prompt_ids,
        "response_ids": sample.response_ids,
        "loss_mask": sample.loss_mask,
        "log_probs": sample.rollout_log_probs,
        "weight_versions": sample.weight_versions,
    }


def _failure(failure: Failure | None) -> dict[str, Any]:
    if failure is None:
        return {"failure_kind": "", "failure_detail": ""}
    return {"failure_kind": str(failure.kind), "failure_detail": _text(failure.detail)}


def _prompt(sample: Sample) -> str:
    if isinstance(sample.prompt, str):
        return sample.prompt
    return "\n\n".join(f"[{turn.role}]\n{turn.text}" for turn in sample.prompt)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), default=str, sort_keys=True) if value else ""


def _text(text: str) -> str:
    """Parquet text is UTF-8, which has no lone surrogates (an answer may end in half an emoji): written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
