"""A training run as one HTML page that needs nothing else, in the style of the report of a judging run, and as a PNG.

Everything that comes from data is hostile until escaped: answers are written by models. The page has no script at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from assay.core.files import write_whole

from .charts import Part, stacked_bar
from .curves import COLOURS, Panel, panels, picture, svg
from .page import allow, fill, part, write_page
from .training import (
    Change,
    TrainingRun,
    answers,
    eval_changes,
    failures,
    is_fit,
    reward_change,
    seconds_by_phase,
)
from .training_monitor import FIGURES, Seen, alarm_lines, seen
from .training_samples import Examples
from .training_settings import shown
from .words import FAILURES, duration, number, percent

PAGE, PICTURE = "report.html", "curves.png"
MOST_TEXT = 4000
"""Characters of one text on the page; longer ones are cut in the middle, and say so."""
STYLES = 5
"""So many stretches of a bar have a colour of their own."""


def write_training_page(run: TrainingRun, path: Path | None = None) -> Path:
    """Write the page of a run, into its folder unless another place is said; returns where it is.

    Raises:
        OutputError: the file cannot be written.
    """
    target = path or run.folder / PAGE
    write_page(target, training_page(run))
    return target


def write_curves(run: TrainingRun, path: Path | None = None) -> Path | None:
    """Write the curves as a PNG; returns where it is, None for a run without numbers. Raises OutputError."""
    shown = panels(run)
    if not shown:
        return None
    target = path or run.folder / PICTURE
    write_whole(target, picture(f"{title(run)}: {number(run.steps)} steps", shown).png())
    return target


def title(run: TrainingRun) -> str:
    """What the run is called."""
    return f"Training run {run.folder.resolve().name}"


def training_page(run: TrainingRun) -> str:
    """The page as text."""
    style = part("page.css")
    return fill(
        part("page.training.html"),
        {
            "title": escape(title(run)),
            "policy": f"style-src {allow(style)}",
            "style": style,
            "facts": "".join(f"<li><b>{escape(value)}</b> {escape(name)}</li>" for value, name in _facts(run)),
            "cards": "".join(_card(change, place) for place, change in enumerate(_changes(run))),
            "alarms": "".join(f'<p class="note">{escape(line)}</p>' for line in alarm_lines(run)),
            "curves": "".join(map(_figure, panels(run))) or '<p class="none">No step is made yet.</p>',
            "monitor": _monitor(seen(run)),
            "failures": _failures(run),
            "time": _time(run),
            "damaged": "".join(f'<p class="note">Damaged: {escape(str(one))}</p>' for one in run.damaged),
            "examples": _examples(run.samples.examples),
            "settings": _settings(run),
        },
    )


def _facts(run: TrainingRun) -> Iterator[tuple[str, str]]:
    yield number(run.steps), "step" if run.steps == 1 else "steps"
    if not is_fit(run):
        yield number(answers(run)), "answers"
    seconds = sum(seconds_by_phase(run).values())
    if seconds:
        yield duration(seconds), "of work"
    for name, key in (("mode", "mode"), ("policy", "hf_checkpoint"), ("reward", "rm_type")):
        if isinstance(run.config.get(key), str):
            yield run.config[key], name


def _changes(run: TrainingRun) -> list[tuple[Change, bool]]:
    """Each with whether it is a share."""
    reward = reward_change(run)
    return [*([(reward, False)] if reward else []), *((change, True) for change in eval_changes(run))]


def _card(shown: tuple[Change, bool], place: int) -> str:
    change, is_share = shown
    first, last = (escape(percent(v)) if is_share else f"{v:.3f}" for v in (change.first, change.last))
    name = f"{change.name}, pass@1" if is_share else "Reward"
    said = "at the first evaluation" if is_share else "in the first steps"
    return (
        f'<article class="card j{place % 6}"><h3><i></i>{escape(name)}</h3>'
        f'<p class="big"><b>{last}</b> {change.last - change.first:+.3f}</p>'
        f'<p class="scale"><span>{first} {said}</span></p></article>'
    )


def _figure(panel: Panel) -> str:
    keys = "".join(
        f'<li class="c{place % len(COLOURS)}"><i></i>{escape(curve.name)}</li>'
        for place, curve in enumerate(panel.curves)
    )
    return f'<figure><figcaption>{escape(panel.title)}</figcaption>{svg(panel)}<ul class="keys">{keys}</ul></figure>'


def _monitor(found: Sequence[Seen]) -> str:
    rows = "".join(
        f"<tr><th>{escape(f'{one.label}: ' if one.label else '')}{escape(FIGURES[one.figure])}</th>"
        f"<td>{one.first:.2f} at first, {one.last:.2f} at the last of {number(one.looks)} looks"
        f"{_alarmed(one)}</td></tr>"
        for one in found
    )
    return f'<section><h2>What the monitor saw</h2><table class="groups">{rows}</table></section>' if rows else ""


def _alarmed(one: Seen) -> str:
    if one.alarm is None:
        return ""
    steps = "1 step" if len(one.alarmed) == 1 else f"{number(len(one.alarmed))} steps"
    told = f"alarm at {steps}, last at step {one.alarmed[-1]}: {one.alarm.text} ({one.alarm.value:.2f}"
    return f"<br><b>{escape(f'{told}, threshold {one.alarm.threshold:g})')}</b>"


def _failures(run: TrainingRun) -> str:
    counted, total = failures(run), answers(run)
    if not counted:
        return ""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{number(round(count))} ({escape(percent(count / total))}): "
        f"{escape(FAILURES.get(name.removeprefix('judge: '), 'the policy gave no answer'))}</td></tr>"
        for name, count in counted.items()
    )
    return f'<section><h2>Answers without a reward</h2><table class="groups">{rows}</table></section>'


def _time(run: TrainingRun) -> str:
    spent = seconds_by_phase(run)
    if not spent:
        return ""
    styles = ("ok", *(f"bad{place}" for place in range(STYLES)))
    parts = [
        Part(name=name, count=round(seconds * 1000), style=styles[place % len(styles)])
        for place, (name, seconds) in enumerate(spent.items())
    ]
    keys = "".join(
        f'<li><svg class="key"><rect class="{one.style}" width="100%" height="100%"/></svg>{escape(one.name)} '
        f"{duration(spent[one.name])} ({escape(percent(spent[one.name] / sum(spent.values())))})</li>"
        for one in parts
    )
    return f'<section><h2>Where the time went</h2>{stacked_bar(parts)}<ul class="keys">{keys}</ul></section>'


def _examples(found: Examples | None) -> str:
    if found is None:
        return ""
    kinds = (("Best", found.best), ("Worst", found.worst), ("Without a reward", found.failed))
    shown = "".join(f"<h3>{name}</h3>{''.join(map(_example, rows))}" for name, rows in kinds if rows)
    return f"<section><h2>Answers of step {found.step + 1}</h2>{shown}</section>"


def _example(row: Mapping[str, Any]) -> str:
    head = f"reward {row['reward']:.3g}" if row["reward"] is not None else f"{row['failed_at']}: {row['failure_kind']}"
    prompt = " ".join(str(row["prompt"]).split())
    told = [
        ("Prompt", row["prompt"]),
        ("Answer", row["response"]),
        ("Gold answer", row["label"]),
        (f"Judge {row['judge']}".strip(), row["judge_text"]),
        ("What failed", row["failure_detail"]),
        ("Not trained on", row["left_out"]),
    ]
    advantage = "" if row["advantage"] is None else f", advantage {row['advantage']:+.2f}"
    return (
        f'<details class="failure"><summary><span class="count">{escape(head + advantage)}</span>'
        f"{escape(prompt[:120])}</summary>{_texts(told)}</details>"
    )


def _texts(told: Sequence[tuple[str, Any]]) -> str:
    return "".join(f"<h4>{escape(name)}</h4><pre>{escape(_cut(str(text)))}</pre>" for name, text in told if text)


def _cut(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    return f"{text[:half]}\n[… {number(len(text) - 2 * half)} characters left out …]\n{text[-half:]}"


def _settings(run: TrainingRun) -> str:
    if not run.config:
        return ""
    text = json.dumps(shown(run.config), indent=2, ensure_ascii=False, sort_keys=True)
    opened = "" if run.steps else " open"
    head = f'<details class="failure"{opened}><summary>Settings</summary>'
    return f"<section>{head}<pre>{escape(text)}</pre></details></section>"
