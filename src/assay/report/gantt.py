"""A predicted step as a picture: a row for each GPU, who works on it from when to when; the paler, the more idle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.placement import Kind, PlacementPlan, Prediction, Span

from .picture import LETTER, Box, Label, Picture
from .words import duration, percent

LEFT, TOP, RIGHT, ROW, LINE = 110, 44, 30, 24, 24
PLOT = 1000
IDLE = "#e4e1d9"
COLOURS = {Kind.ROLLOUT: "#0f766e", Kind.TRAIN: "#b45309", Kind.FORWARD: "#be185d"}
JUDGES = ("#5146d8", "#4d7c0f", "#0369a1", "#9f1239")
LOGPROBS = "#d97706"


def gantt(plan: PlacementPlan, prediction: Prediction) -> Picture:
    """The picture of one step of the plan."""
    gpus = len(prediction.idle)
    scale = PLOT / prediction.seconds
    bottom = TOP + gpus * ROW
    boxes = [
        *(Box(x=LEFT, y=TOP + gpu * ROW, width=PLOT, height=ROW - 2, colour=IDLE, title="idle") for gpu in range(gpus)),
        *(box for span in prediction.spans for box in _bars(span, plan, scale)),
    ]
    labels = [
        Label(x=10, y=12, text=headline(plan, prediction)),
        *(Label(x=10, y=TOP + gpu * ROW + 4, text=f"GPU {gpu}") for gpu in range(gpus)),
    ]
    for second in _ticks(prediction.seconds):
        boxes.append(Box(x=LEFT + second * scale, y=bottom, width=1, height=6, colour="#5c6169"))
        labels.append(Label(x=LEFT + second * scale - LETTER / 2, y=bottom + 9, text=f"{second:g} s"))
    for place, (name, colour) in enumerate(legend(plan, prediction).items()):
        y = bottom + 40 + place * LINE
        boxes.append(Box(x=LEFT, y=y, width=20, height=14, colour=colour))
        labels.append(Label(x=LEFT + 30, y=y, text=name))
    height = bottom + 40 + LINE * len(legend(plan, prediction)) + 8
    return Picture(width=LEFT + PLOT + RIGHT, height=height, boxes=tuple(boxes), labels=tuple(labels))


def write_gantt(path: Path, plan: PlacementPlan) -> None:
    """Write the picture as ``.html``, ``.svg`` or ``.png``.

    Raises:
        InputError: another ending, or a plan without a prediction.
        OutputError: the file cannot be written.
    """
    if plan.prediction is None:
        raise InputError("there is no picture of a plan without a prediction")
    picture = gantt(plan, plan.prediction)
    if path.suffix == ".png":
        data = picture.png()
    elif path.suffix == ".svg":
        data = picture.svg().encode()
    elif path.suffix == ".html":
        data = _page(plan, plan.prediction, picture).encode()
    else:
        raise InputError(f"--gantt {str(path)!r}: the name must end in .html, .svg or .png")
    write_whole(path, data, what="the picture")


def headline(plan: PlacementPlan, prediction: Prediction) -> str:
    """Mode, cluster and the two figures that count."""
    return (
        f"{plan.mode} on {plan.cluster}: {duration(prediction.seconds)} a step, "
        f"GPUs idle {percent(prediction.mean_idle)}"
    )


def legend(plan: PlacementPlan, prediction: Prediction) -> dict[str, str]:
    """Colour of everything that is drawn."""
    return {span.name: _colour(span, plan) for span in prediction.spans}


def _bars(span: Span, plan: PlacementPlan, scale: float) -> Iterator[Box]:
    """A bar on each GPU; where two engines are awake on a card, the judge has the lower half of its row."""
    told = f"{span.name}: {span.start:.1f} to {span.end:.1f} s, busy {percent(span.busy)}"
    claim = plan.claims[span.claim]
    rollout = plan.claims["rollout"].gpus
    for gpu in span.gpus:
        halved = plan.inline_reward and gpu in rollout and claim.kind in (Kind.ROLLOUT, Kind.JUDGE)
        shared = halved and any(other.kind == Kind.JUDGE for other in plan.on(gpu))
        height = (ROW - 2) / (2 if shared else 1)
        yield Box(
            x=LEFT + span.start * scale,
            y=TOP + gpu * ROW + (height if shared and claim.kind == Kind.JUDGE else 0),
            width=(span.end - span.start) * scale,
            height=height,
            colour=_paled(_colour(span, plan), span.busy),
            title=told,
        )


def _colour(span: Span, plan: PlacementPlan) -> str:
    kind = plan.claims[span.claim].kind
    if kind == Kind.JUDGE:
        return JUDGES[plan.judges.index(span.claim) % len(JUDGES)]
    return LOGPROBS if span.name == "log-probs" else COLOURS[kind]


def _paled(colour: str, busy: float) -> str:
    """Towards grey, as far as the time is idle in between."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(IDLE[1:]), strict=True)
    return "#" + bytes(round(busy * own + (1 - busy) * idle) for own, idle in pairs).hex()


def _ticks(seconds: float) -> list[float]:
    """Round times, five to ten of them."""
    step = 10.0 ** math.floor(math.log10(seconds))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0) if seconds / (step * part) <= 10)
    return [round(step * n, 6) for n in range(int(seconds / step) + 1)]


def _page(plan: PlacementPlan, prediction: Prediction, picture: Picture) -> str:
    rows = "".join(
        f"<tr><td>{escape(phase)}<td>{duration(seconds)}<td>{escape(percent(seconds / prediction.seconds))}"
        for phase, seconds in prediction.phases.items()
    )
    verdict = f"<p><b>{escape(plan.advice.verdict)}</b>" if plan.advice is not None else ""
    warnings = "".join(f"<p>warning: {escape(warning)}" for warning in plan.warnings)
    style = (
        "body{margin:2rem auto;max-width:72rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;background:#faf9f6;"
        "color:#1c1e22}td{padding:.1rem 1.2rem .1rem 0;font-variant-numeric:tabular-nums}svg{width:100%}"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(headline(plan, prediction))}</title><style>{style}</style>"
        f"<h1>{escape(headline(plan, prediction))}</h1>{picture.svg()}{verdict}{warnings}<table>{rows}</table></html>"
    )
