"""A whole training run for two CPU cores: a small policy that sorts digits badly, and the settings to train it with.

The policy is made here: some supervised steps on answers that are wrong three times out of four. Neither they nor the
rewards ever see a question that is held out. Owns: task files, warm start, settings, and the accuracy by rule. Does not
own: the task (``data.demo.digit_task``), training itself (``run.train``).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow.parquet as pq
from pydantic import Field

from assay.core.config import Config
from assay.core.files import write_whole
from assay.core.seeds import digest
from assay.data.demo import digit_task

from .config import TrainConfig
from .evaluation import eval_path

HELD_OUT = "held-out"
"""The name of the evaluation set."""
_RECORDED = 10
"""Steps whose answers are kept."""
POLICY, TRAIN_FILE, HELD_FILE = "policy", "train.jsonl", "held-out.jsonl"


DemoJudge: TypeAlias = Literal["math", "verifier"]
"""Who rewards the answers: the rule, or the judge model."""


class DemoTraining(Config):
    """How the demo trains. The defaults are what ``assay demo`` shows with the rule as the judge; see ``judged_by``."""

    judge: DemoJudge = "math"
    """Who rewards the answers."""
    choices: bool = False
    """The verifier reads the probabilities of its labels: one forward pass a judgment."""

    seed: int = Field(default=0, ge=0)
    """Of the untrained weights, of the warm start and of the rollouts."""
    warm_steps: int = Field(default=120, ge=1)
    """Supervised updates before the run."""
    warm_batch: int = Field(default=64, ge=1)
    """Questions of each."""
    warm_lr: float = Field(default=2e-3, gt=0)
    steps: int = Field(default=60, ge=1)
    """Steps of the run."""
    prompts: int = Field(default=16, ge=1)
    """Questions of a step."""
    samples: int = Field(default=16, ge=2)
    """Answers to each."""
    lr: float = Field(default=5e-4, gt=0)
    evaluations: int = Field(default=10, ge=1)
    """How often the held-out questions are answered while it trains."""

    @property
    def interval(self) -> int:
        """Steps from one evaluation to the next."""
        return max(1, self.steps // self.evaluations)


def judged_by(judge: DemoJudge, *, choices: bool = False, **said: Any) -> DemoTraining:
    """The settings for a judge. A model takes as long for one judgment as the rule for hundreds, and equal answers to
    equal gold are one judgment: with the verifier the policy is warmed up longer, so that it errs in fewer ways, gives
    fewer answers, and is asked the held-out questions only before and after.
    """
    if judge == "math":
        return DemoTraining(**said)
    fewer: dict[str, Any] = {"warm_steps": 800, "steps": 50, "prompts": 6, "evaluations": 1}
    return DemoTraining(judge=judge, choices=choices, **fewer | said)


def write_task(folder: Path) -> None:
    """Write prompts and labels of both sides of the split as JSONL. Raises OutputError."""
    for name, held in ((TRAIN_FILE, False), (HELD_FILE, True)):
        rows = (
            {"prompt": digit_task.prompt(q), "label": digit_task.answer(q), "metadata": {"question": digit_task.TASK}}
            for q in digit_task.questions(held=held)
        )
        write_whole(folder / name, "".join(json.dumps(row) + "\n" for row in rows), what="the demo's task")


def warm_pairs(config: DemoTraining) -> Iterator[list[tuple[str, str]]]:
    """The batches of the warm start: questions to train on, with the answers of a poor teacher."""
    questions, draw = digit_task.questions(held=False), random.Random(digest(["warm start", config.seed]))
    for _ in range(config.warm_steps):
        chosen = draw.choices(questions, k=config.warm_batch)
        yield [(digit_task.prompt(digits), digit_task.mistaken(digits, draw)) for digits in chosen]


def warm_policy(folder: Path, config: DemoTraining) -> Path:
    """Make the policy that the run starts from; returns its folder. Imports torch."""
    from assay.training.batch import TrainBatch, TrainSequence
    from assay.training.config import TrainerConfig
    from assay.training.objective import NllObjective
    from assay.training.small import EOS, save_small
    from assay.training.trainer import Trainer

    from .tokens import load_tokenizer

    raw = str(save_small(folder / "untrained", digit_task.CHARACTERS, seed=config.seed))
    trainer, tokenizer = Trainer(TrainerConfig(hf_checkpoint=raw, lr=config.warm_lr)), load_tokenizer(raw)

    def sequence(prompt: str, answer: str) -> TrainSequence:
        ids = (*tokenizer.encode(answer), EOS)
        return TrainSequence(prompt_ids=tokenizer.encode(prompt), response_ids=ids, loss_mask=(True,) * len(ids))

    for pairs in warm_pairs(config):
        trainer.step(TrainBatch(sequences=tuple(sequence(*pair) for pair in pairs)), NllObjective())
    trainer.export(folder / POLICY)
    return folder / POLICY


def settings(folder: Path, config: DemoTraining, *, genrm_url: str | None = None, **more: Any) -> TrainConfig:
    """The run's settings, as ``assay train`` would take them. ``genrm_url`` None: the rule ``math`` in this process."""
    flags: dict[str, Any] = {
        "hf_checkpoint": str(folder / POLICY),
        "prompt_data": str(folder / TRAIN_FILE),
        "eval_prompt_data": (f"{HELD_OUT}={folder / HELD_FILE}",),
        "eval_interval": config.interval,
        "eval_temperature": 0.0,
        "num_rollout": config.steps,
        "rollout_batch_size": config.prompts,
        "n_samples_per_prompt": config.samples,
        "rollout_max_response_len": digit_task.LENGTH + 2,
        "rollout_seed": config.seed,
        **_reward(config),
        "genrm_url": genrm_url,
        "lr": config.lr,
        "lr_decay_style": "linear",
        "lr_decay_iters": config.steps,
        # Products this small gain nothing from a second thread, and the judge service wants a core too.
        "rollout_engine_options": {"threads": 1},
        "tracker": "none",
        "record_interval": max(1, config.steps // _RECORDED),
        "run_dir": folder / "run",
    }
    return TrainConfig(**(flags | more))


def _reward(config: DemoTraining) -> dict[str, Any]:
    if config.judge == "math":
        return {"rm_type": "math"}
    return {"rm_type": "dapo-genrm", "judge_options": {"choices": config.choices}}


def accuracies(run: Path) -> list[tuple[int, float]]:
    """(steps made, share of held-out questions whose greedy answer is the right text), by rule: no judge is asked."""
    files = [eval_path(run, HELD_OUT, -1), *sorted(eval_path(run, HELD_OUT, 0).parent.glob("step-*.parquet"))]
    found: list[tuple[int, float]] = []
    for path in files:
        columns: dict[str, Sequence[Any]] = pq.read_table(path, columns=["step", "prompt", "response"]).to_pydict()
        pairs = list(zip(columns["prompt"], columns["response"], strict=True))
        right = sum(said == digit_task.answer(asked.removesuffix(digit_task.SIGN)) for asked, said in pairs)
        found.append((int(columns["step"][0]) + 1, right / len(pairs)))
    return found
