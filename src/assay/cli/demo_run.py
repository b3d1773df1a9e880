"""The demo, step by step: start ``assay serve`` as a process of its own, judge the bundled questions through its
``/score`` with the rule judge and with the embedded model, train a small policy with rewards from the same service,
print the tables, write a report, stop the service cleanly.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from assay.client import GenRMClient
from assay.core import log
from assay.core.types import Item
from assay.data import ResultRow, read_results
from assay.data.demo import load_demo
from assay.engines.embedded.adapter_card import JudgeForm
from assay.engines.embedded.shipped import card_of, judging_adapter
from assay.judges import Judge, build_judge
from assay.report.html import write_report
from assay.report.summary import summarise
from assay.report.tables import print_summary
from assay.report.training_story import TrainingStory
from assay.rl.demo import judged_by
from assay.scoring.job import JobResult, JudgingJob, Progress, run_job
from assay.scoring.remote import RemoteScorer

from .demo import DemoFlags
from .progress import judging_progress
from .service_process import service_process

console = Console()

_START_S = 600.0
TRAINING = "training"


def run_demo(flags: DemoFlags) -> None:
    """Judge with two judges, then train with one of them, through one service; everything lands in ``flags.out``."""
    out, limit = flags.out, flags.limit
    log.setup("warning")
    begin = time.perf_counter()
    items = load_demo()[:limit]
    answers = sum(item.n for item in items)
    console.print(f"[bold]Assay[/]: {len(items)} questions with {answers} answers, two judges, one service")
    form = _form()
    # A label that stands behind a line of thought cannot be read at the first token.
    choices = form is None or form.target == "verdict"
    judges = (build_judge("math"), build_judge("verifier", choices=choices))
    rows: list[ResultRow] = []
    with _service(out, choices=choices) as url:
        for judge in judges:
            rows += _judge(url, judge, items, out / f"{judge.name}.parquet")
        trained = _train(url, flags, adapted=form is not None, choices=choices) if flags.steps != 0 else None
    report = out / "report.html"
    write_report(report, rows, title="Assay demo", items=items, training=trained)
    console.print(f"service stopped; all in {time.perf_counter() - begin:.0f} s", highlight=False, soft_wrap=True)
    console.print(f"[bold]report[/]  {report}\n[bold]rows[/]    {out}/*.parquet", highlight=False, soft_wrap=True)


def _judge(url: str, judge: Judge, items: tuple[Item, ...], out: Path) -> list[ResultRow]:
    result = JobResult()
    job = JudgingJob(judge=judge, items=items, out=out, fresh=True)
    with judging_progress(judge.name) as progress:
        asyncio.run(_through(url, job, progress, result))
    rows = read_results(out)
    print_summary(console, summarise(rows, seconds=result.seconds, judged=result.judged))
    return rows


async def _through(url: str, job: JudgingJob, progress: Progress, result: JobResult) -> None:
    # The client belongs to the event loop that it is used in.
    await run_job(job, RemoteScorer(GenRMClient(url)), progress, result)


def _form() -> JudgeForm | None:
    """The verifier as the adapter of the package was trained to be it; None where there is no such adapter."""
    card = card_of(judging_adapter(None, None, ["verifier"]))
    return None if card is None else card.judges["verifier"]


def _train(url: str, flags: DemoFlags, *, adapted: bool, choices: bool) -> TrainingStory:
    # The trainer is imported when its turn has come: judging does not wait for it.
    from .demo_training import train_demo

    judge = flags.judge or ("verifier" if adapted else "math")
    if judge == "verifier" and not adapted:
        console.print("[yellow]note[/]: without an adapter the bundled model judges near chance: little is learned")
    said = {} if flags.steps is None else {"steps": flags.steps}
    config = judged_by(judge, choices=choices, seed=flags.seed, **said)
    return train_demo(console, url, flags.out / TRAINING, config)


@contextmanager
def _service(out: Path, *, choices: bool) -> Generator[str]:
    flags = [*(["--choices"] if choices else []), "--record", str(out / "recorder")]
    status = console.status("service: starting (the first time, the model is converted: half a minute)")
    status.start()
    try:
        with service_process(flags, out / "serve.log", start_s=_START_S) as url:
            status.stop()
            console.print(f"service ready: {url}", highlight=False, soft_wrap=True)
            yield url
    finally:
        status.stop()
