"""The training part of the demo: a small policy, warmed up badly, learns from rewards of the judge service."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from assay.core.errors import OutputError
from assay.data.demo import digit_task
from assay.report.training import read_training
from assay.report.training_page import write_training_page
from assay.report.training_story import TrainingStory
from assay.report.training_table import training_table
from assay.report.words import number, percent
from assay.rl.demo import DemoJudge, DemoTraining, accuracies, settings, warm_policy, write_task
from assay.rl.run import RunResult, train

from .train_progress import training_progress

LEAD = (
    "A policy of a third of a million weights that puts four digits in order. It was warmed up on answers that are "
    "wrong three times out of four, then trained with GRPO; each answer was judged by {judge} at the service above. No "
    "arrangement of the digits that it is asked about here was ever trained on."
)
JUDGES: Mapping[DemoJudge, str] = {"math": "the rule math", "verifier": "the judge model (verifier)"}


def train_demo(console: Console, url: str, folder: Path, config: DemoTraining) -> TrainingStory:
    """Make the policy and train it. Everything lands in ``folder``, beside the page that tells the story; what an
    earlier demo left there is replaced.
    """
    _clear(folder)
    write_task(folder)
    trained, held = (len(digit_task.questions(held=side)) for side in (False, True))
    console.print(
        f"[bold]training[/]: put {digit_task.LENGTH} digits in order; {number(trained)} questions, {held} more held "
        f"out; {number(config.steps)} steps of {config.prompts} x {config.samples} answers, judged by "
        f"{JUDGES[config.judge]} at the service",
        highlight=False,
        soft_wrap=True,
    )
    with console.status("policy: a third of a million weights, warmed up on answers that are wrong 3 times out of 4"):
        warm_policy(folder, config)
    result = RunResult(run_dir=folder / "run")
    with training_progress(console, config.steps, answers=config.prompts * config.samples) as tell:
        asyncio.run(train(settings(folder, config, genrm_url=url), result, tell=tell))
    run = read_training(result.run_dir)
    page, right = write_training_page(run), accuracies(result.run_dir)
    console.print(training_table(run))
    (_, before), (_, after) = right[0], right[-1]
    console.print(
        f"held-out questions answered right, greedy, by rule without the judge: {percent(before)} before training, "
        f"[bold]{percent(after)}[/] after it (n = {held})",
        highlight=False,
        soft_wrap=True,
    )
    return TrainingStory(
        run=run, lead=LEAD.format(judge=JUDGES[config.judge]), right=right, page=str(page.relative_to(folder.parent))
    )


def _clear(folder: Path) -> None:
    """The run of an earlier demo would be gone on with, and it is at its end."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise OutputError(f"cannot replace the earlier demo in {str(folder)!r}: {error.strerror or error}") from error
