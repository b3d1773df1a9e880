from __future__ import annotations

import io

from rich.console import Console

from assay.cli.train_progress import Watched, training_progress
from assay.rl.progress import AnswersJudged, PhaseBegan, StepMade


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _shown(watched: Watched) -> str:
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(watched)
    return console.export_text()


def test_the_live_view_says_what_happens_now() -> None:
    clock = Clock()
    watched = Watched(steps=4, answers=32, clock=clock)
    watched.tell(StepMade(step=-1, metrics={"eval/aime/pass@1": 0.1}))
    watched.tell(PhaseBegan(phase="generate"))
    watched.tell(AnswersJudged(answers=8, failed=2))
    clock.now = 5.0
    text = _shown(watched)
    assert "baseline · aime 10.0 %" in text
    assert "0/4 steps" in text
    assert "generate 5 s, 8/32 judged, 2 failed" in text
    assert "left" not in text
    watched.tell(StepMade(step=0, metrics={"reward/mean": 0.5}))
    clock.now = 10.0
    text = _shown(watched)
    assert "1/4 steps" in text
    assert "about 30 s left" in text
    watched.tell(PhaseBegan(phase="generate"))
    assert "judged" not in _shown(watched)


def test_a_resumed_run_counts_its_own_steps_for_what_is_left() -> None:
    clock = Clock()
    watched = Watched(steps=10, clock=clock)
    watched.tell(StepMade(step=7))
    clock.now = 6.0
    assert watched.left == 12.0
    watched.tell(StepMade(step=8))
    watched.tell(StepMade(step=9))
    assert "done" in _shown(watched)


def test_where_there_is_no_terminal_a_step_is_a_line() -> None:
    out = io.StringIO()
    with training_progress(Console(file=out, width=40), 2) as tell:
        tell(PhaseBegan(phase="generate"))
        tell(AnswersJudged(answers=1, failed=0))
        tell(StepMade(step=0, metrics={"reward/mean": 0.25, "rollout/response_length": 80.0, "time/step": 2.0}))
        tell(StepMade(step=1, metrics={"reward/mean": 0.5}))
    assert out.getvalue() == "step 1/2 · reward 0.250 · 80 tokens · 2 s\nstep 2/2 · reward 0.500\n"


def test_on_a_terminal_the_last_state_stays() -> None:
    out = io.StringIO()
    with training_progress(Console(file=out, force_terminal=True, width=160), 1) as tell:
        tell(StepMade(step=0, metrics={"reward/mean": 0.25}))
    assert "1/1 steps" in out.getvalue()
    assert "reward 0.250" in out.getvalue()
