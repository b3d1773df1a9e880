"""Evaluation while training: every so many steps the policy answers sets of prompts that it is not trained on.

Owns: which sets, when, and how they are answered; seeds are the same every time, so that two evaluations differ by the
weights alone. Does not own: rewards (any ``RewardFunction``, also a stricter one than training has), which of their
entries counts (``rewards.picked``), the figures (``pass_at_k``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from assay.core.config import Config
from assay.core.errors import InputError
from assay.engines.base import Engine

from .pass_at_k import figures
from .ports import Scoring
from .prompts import DataConfig, DataFlags, Row, load_prompts
from .record import group_rows, remove_samples, write_samples
from .residency import Enter
from .rewards.base import RewardFunction
from .rollout.answer import Answering
from .rollout.config import RolloutConfig
from .rollout.groups import Groups
from .sample import Group, Prompt
from .step import StepResult
from .tokens import PolicyTokenizer


class EvalConfig(Config):
    """Sets of prompts that the policy answers from time to time, and is not trained on."""

    eval_prompt_data: tuple[str, ...] = ()
    """Name and file of each set: aime=data/aime.jsonl, or the two as words, as in aime data/aime.jsonl."""
    eval_interval: int | None = Field(default=None, ge=1)
    """Evaluate after every so many steps, beside before the first and after the last; without it only then."""
    n_samples_per_eval_prompt: int = Field(default=1, ge=1)
    """Answers to each prompt."""
    eval_max_response_len: int | None = Field(default=None, ge=1)
    """Most tokens of an answer; without it as in training."""
    eval_temperature: float | None = Field(default=None, ge=0)
    """Sampling temperature, 0 is greedy; without it as in training."""
    eval_top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus; without it as in training."""
    eval_top_k: int | None = None
    """Most likely tokens that are sampled from, -1 is all; without it as in training."""
    eval_input_key: str | None = None
    """Field of the prompt; without it as in training."""
    eval_label_key: str | None = None
    """Field of the gold answer; without it as in training."""
    eval_reward_key: str | None = None
    """Which entry of what the reward function gives is counted; without it as in training. Also the name of one of
    several reward parts."""
    eval_metadata_key: str | None = None
    """Field of the object that reward functions see; without it as in training."""
    eval_pass_above: float = 0.5
    """An answer whose reward is above this is right (pass@k)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.eval_temperature == 0 and self.n_samples_per_eval_prompt > 1:
            raise ValueError(
                f"n_samples_per_eval_prompt {self.n_samples_per_eval_prompt} with eval_temperature 0: "
                "greedy answers to a prompt are all the same; ask for one, or sample"
            )
        return self

    def due(self, made: int, steps: int) -> bool:
        """Whether to evaluate when ``made`` of ``steps`` steps are made."""
        every = self.eval_interval is not None and made % self.eval_interval == 0
        return bool(self.eval_prompt_data) and (made in (0, steps) or every)

    def rollout(self, training: RolloutConfig) -> RolloutConfig:
        """How sets are answered."""
        said = {
            "rollout_max_response_len": self.eval_max_response_len,
            "rollout_temperature": self.eval_temperature,
            "rollout_top_p": self.eval_top_p,
            "rollout_top_k": self.eval_top_k,
            "n_samples_per_prompt": self.n_samples_per_eval_prompt,
        }
        own = {"partial_rollout": False, "dynamic_sampling_filter": "none"}
        return training.model_copy(update=own | {name: value for name, value in said.items() if value is not None})

    def data(self, training: DataConfig) -> DataConfig:
        """How rows are read."""
        said = {
            "input_key": self.eval_input_key,
            "label_key": self.eval_label_key,
            "metadata_key": self.eval_metadata_key,
        }
        return training.model_copy(update={name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSet:
    """A set and its rows, in the order of the file."""

    name: str
    rows: tuple[Row, ...]

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(row.drawn(place) for place, row in enumerate(self.rows))


def eval_sources(entries: Sequence[str]) -> dict[str, str]:
    """Names and files out of ``--eval-prompt-data``: ``name=file``, ``"name file"``, or two words one after the other.

    Raises:
        InputError: a name without a file, or twice the same name.
    """
    words: list[str] = []
    for entry in entries:
        name, sign, path = entry.partition("=")
        words += [name.strip(), path.strip()] if sign else entry.split(maxsplit=1)
    if len(words) % 2 or not all(words):
        raise InputError(
            f"eval_prompt_data {' '.join(entries)!r}: give a name and a file for each set, as in aime=data/aime.jsonl"
        )
    names = words[0::2]
    twice = [name for name in names if names.count(name) > 1]
    if twice or any("/" in name for name in names):
        raise InputError(f"eval_prompt_data: every set needs a name of its own without slashes, got {names!r}")
    return dict(zip(names, words[1::2], strict=True))


def load_sets(config: EvalConfig, training: DataConfig) -> tuple[EvalSet, ...]:
    """Read all sets.

    Raises:
        InputError: a set cannot be read; the message names flag, set, file and what is missing.
    """
    data = config.data(training)
    return tuple(
        EvalSet(name=name, rows=tuple(load_prompts(path, data, _flags(name))))
        for name, path in eval_sources(config.eval_prompt_data).items()
    )


def _flags(name: str) -> DataFlags:
    return DataFlags(
        data=f"--eval-prompt-data {name}",
        input_key="--eval-input-key",
        label_key="--eval-label-key",
        metadata_key="--eval-metadata-key",
    )


class Evaluation:
    """``Observer``. ``scoring`` judges a set as a whole once it is answered, where ``groups`` gives no rewards, or not
    those that count. ``enter`` is for modes in which rollout and judges are never awake together.
    """

    def __init__(
        self,
        sets: Sequence[EvalSet],
        config: EvalConfig,
        groups: Groups,
        *,
        steps: int,
        run: Path | None = None,
        scoring: Scoring | None = None,
        enter: Enter | None = None,
    ) -> None:
        self._sets = tuple(sets)
        self._config = config
        self._groups = groups
        self._steps = steps
        self._run = run
        self._scoring = scoring
        self._enter = enter

    def resume(self, step: int) -> None:
        """Remove the answers of evaluations after ``step`` and later: a run that goes on makes those steps again.

        Raises:
            OutputError: a file cannot be removed.
        """
        if self._run is not None:
            for one in self._sets:
                remove_samples(eval_path(self._run, one.name, step).parent, step)

    async def after(self, result: StepResult) -> Mapping[str, float]:
        return await self.measure(result.step) if self._config.due(result.step + 1, self._steps) else {}

    async def baseline(self) -> Mapping[str, float]:
        """What the policy can do before the first step."""
        return await self.measure(-1) if self._sets else {}

    async def measure(self, step: int) -> dict[str, float]:
        """``eval/<set>/…`` of all sets with the weights that the engines have now; answers go to ``<run>/eval``.

        Raises:
            InputError: the reward function cannot judge such prompts.
            OutputError: the answers could not be written.
        """
        begin = time.perf_counter()
        found: dict[str, float] = {}
        for name, groups in (await self._judged(await self._answered())).items():
            n, above = self._config.n_samples_per_eval_prompt, self._config.eval_pass_above
            found |= {f"eval/{name}/{key}": value for key, value in figures(groups, n, above).items()}
            if self._run is not None:
                rows = [row for group in groups for row in group_rows(step, group)]
                await asyncio.to_thread(write_samples, eval_path(self._run, name, step), rows)
        return {**found, "time/eval": time.perf_counter() - begin}

    async def close(self) -> None:
        """Engines and rewards belong to whoever gave them."""

    async def _answered(self) -> dict[str, Sequence[Group]]:
        if self._enter is not None and self._sets:
            await self._enter("generate")
        return {
            one.name: await asyncio.gather(*(self._groups.roll(prompt) for prompt in one.prompts)) for one in self._sets
        }

    async def _judged(self, answered: Mapping[str, Sequence[Group]]) -> Mapping[str, Sequence[Group]]:
        """All sets are answered before any is judged: one swap for all of them."""
        if self._scoring is None:
            return answered
        if self._enter is not None and answered:
            await self._enter("judge")
        return {name: await self._scoring.score(groups) for name, groups in answered.items()}


def eval_groups(
    engine: Engine,
    tokenizer: PolicyTokenizer,
    config: EvalConfig,
    training: RolloutConfig,
    reward: RewardFunction | None,
) -> Groups:
    """What answers the sets: the rollout engine under the settings of evaluation. ``reward`` None: judged later."""
    rollout = config.rollout(training)
    return Groups(
        Answering(engine, tokenizer, rollout), rollout, lambda prompt: tokenizer.render(prompt.prompt), reward
    )


def eval_path(run: Path, name: str, step: int) -> Path:
    """The file with a set's answers after ``step``; -1 is the baseline."""
    return run / "eval" / name / ("baseline.parquet" if step < 0 else f"step-{step:06d}.parquet")
