"""The parts of the page that need no script: the facts of the run, a card per judge, groups, scores, failures.

Every text from outside goes through ``escape`` here; what comes out is HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from assay.data import ResultRow

from .agreement import single_pairs, unit_scale
from .charts import Part, histogram, stacked_bar, whisker
from .figures import figures
from .sample import readable
from .summary import Group, JudgeSummary, Summary
from .words import FAILURES, Headline, chance_note, duration, headline, number, percent

EXAMPLES = 3
STYLES = 6
"""So many judges have a colour of their own."""
IN_HEAD = frozenset({"items", "judgments", "verdicts"})
"""Figures that stand elsewhere on a card."""


def facts_line(summary: Summary, facts: Mapping[str, str]) -> str:
    """The facts under the title."""
    found = [
        (number(summary.judgments), "judgment" if summary.judgments == 1 else "judgments"),
        (number(summary.items), "item" if summary.items == 1 else "items"),
        (number(len(summary.judges)), "judge" if len(summary.judges) == 1 else "judges"),
    ]
    if summary.speed is not None:
        found.append((duration(summary.speed.seconds), "on the wall"))
    if summary.last is not None:
        day = datetime.fromtimestamp(summary.last, UTC)
        found.append((f"{day:%Y-%m-%d}", f"{day:%H:%M} UTC"))
    found += [(value, name) for name, value in facts.items()]
    return "".join(f"<li><b>{escape(value)}</b> {escape(name)}</li>" for value, name in found)


def cards(summary: Summary) -> str:
    """A card per judge: its one figure, how sure it is, what failed, and everything else small."""
    return "".join(_card(judge, place) for place, judge in enumerate(summary.judges))


def _card(judge: JudgeSummary, place: int) -> str:
    head, note = headline(judge), chance_note(judge)
    warning = f'<p class="note">{escape(note[0].upper() + note[1:])}.</p>' if note else ""
    model = f'<span class="model">{escape(judge.model)}</span>' if judge.model else ""
    version = f'<span class="model">{escape(judge.weight_version)}</span>' if judge.weight_version else ""
    return (
        f'<article class="card {_style(place)}">'
        f"<h3><i></i>{escape(judge.name)}{model}{version}</h3>"
        f"{_big(head) if head else _no_gold(judge)}{warning}{_outcomes(judge)}{_figures(judge)}</article>"
    )


def _big(head: Headline) -> str:
    said = f"{head.name} {head.value}, 95 % interval {head.span}, n = {head.n}"
    return (
        f'<p class="big"><b>{escape(head.value)}</b> {escape(head.name)}</p>'
        f"{whisker(head.interval, head.chance, said)}"
        f'<p class="scale"><span>0</span><span>95 % interval {head.span} · n = {number(head.n)} · '
        f"chance {escape(percent(head.chance, 0))}</span><span>{'1' if head.name == 'AUC' else '100'}</span></p>"
    )


def _no_gold(judge: JudgeSummary) -> str:
    share = escape(percent(judge.verdicts / judge.judgments))
    return f'<p class="big"><b>{share}</b> verdicts</p><p class="scale"><span>no gold to compare with</span></p>'


def _outcomes(judge: JudgeSummary) -> str:
    parts = [Part(name="verdicts", count=judge.verdicts, style="ok")]
    parts += [
        Part(name=kind, count=count, style=f"bad bad{place % 5}")
        for place, (kind, count) in enumerate(judge.failures.items())
    ]
    keys = "".join(
        f'<li><svg class="key" aria-hidden="true"><rect class="{part.style}" width="100%" height="100%"/></svg>'
        f"{escape(part.name)} <b>{number(part.count)}</b></li>"
        for part in parts
    )
    none = "" if judge.failures else "<li>no failures</li>"
    return f'{stacked_bar(parts)}<ul class="keys">{keys}{none}</ul>'


def _figures(judge: JudgeSummary) -> str:
    head = headline(judge)
    said = IN_HEAD | {head.name} if head else IN_HEAD
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <small>{escape(aside)}</small></dd></div>"
        for name, (value, aside) in figures(judge).items()
        if value and name not in said
    )
    flags = ", ".join(f"{escape(flag)} {number(count)}" for flag, count in judge.flags.items())
    flagged = f"<div><dt>flags</dt><dd>{flags}</dd></div>" if flags else ""
    return f"<dl>{rows}{flagged}</dl>"


def groups(summary: Summary, keys: Sequence[str]) -> str:
    """Agreement by each metadata key; empty when there is no key to group by."""
    shown = "".join(_groups(summary, key) for key in keys)
    if not shown:
        return ""
    legend = ""
    if len(summary.judges) > 1:
        entries = (
            f'<li class="{_style(place)}"><i></i>{escape(j.label)}</li>' for place, j in enumerate(summary.judges)
        )
        legend = f'<ul class="legend">{"".join(entries)}</ul>'
    measure = next((head.name for judge in summary.judges if (head := headline(judge))), "share of verdicts")
    return (
        f'<section><h2>By group</h2><p class="lead">{escape(measure.capitalize())} with its 95 % interval. The tick is '
        f'chance. Few judgments give wide intervals.</p>{legend}<div class="columns">{shown}</div></section>'
    )


def _groups(summary: Summary, key: str) -> str:
    found = [{group.value: group for group in judge.groups.get(key, ())} for judge in summary.judges]
    rows: list[str] = []
    for value in sorted({value for groups in found for value in groups}):
        lines = [_line(groups[value], place, value) for place, groups in enumerate(found) if value in groups]
        count = max(groups[value].judgments for groups in found if value in groups)
        rows.append(
            f'<tr><th scope="row">{escape(value)} <small>{number(count)}</small></th><td>{"".join(lines)}</td></tr>'
        )
    return f'<table class="groups"><caption>{escape(key)}</caption><tbody>{"".join(rows)}</tbody></table>'


def _line(group: Group, place: int, value: str) -> str:
    head = headline(group)
    if head is None:
        share = escape(percent(group.verdicts / group.judgments))
        return (
            f'<div class="line {_style(place)}"><span class="none">{share} verdicts, no gold of both kinds</span></div>'
        )
    said = f"{value}: {head.name} {head.value}, 95 % interval {head.span}, n = {head.n}"
    drawn = whisker(head.interval, head.chance, said)
    return f'<div class="line {_style(place)}">{drawn}<b>{escape(head.value)}</b></div>'


def scores(summary: Summary, rows: Sequence[Sequence[ResultRow]]) -> str:
    """How the scores of right and wrong answers lie; empty where no judge scored single answers with gold of 0 or 1."""
    shown = [
        drawn
        for place, judge in enumerate(summary.judges)
        if (drawn := _histogram(judge, place, list(single_pairs(rows[place]))))
    ]
    if not shown:
        return ""
    return (
        '<section><h2>Scores</h2><p class="lead"><b class="gold-right">Right answers</b> above the line, '
        '<b class="gold-wrong">wrong ones</b> below it. A judge that knows something keeps them apart.</p>'
        f'<div class="columns">{"".join(shown)}</div></section>'
    )


def _histogram(judge: JudgeSummary, place: int, pairs: list[tuple[float, float]]) -> str:
    if judge.accepting is None or not pairs:
        return ""
    values = [score for score, _ in pairs]
    low, high = (0.0, 1.0) if unit_scale(values) else (min(values), max(values))
    right, wrong = ([score for score, gold in pairs if gold == wanted] for wanted in (1.0, 0.0))
    counts = f"{number(len(right))} right, {number(len(wrong))} wrong"
    return (
        f'<figure class="{_style(place)}"><figcaption><i></i>{escape(judge.label)}</figcaption>'
        f"{histogram(right, wrong, low, high)}"
        f'<p class="scale"><span>{number(low)}</span><span>{counts}</span>'
        f"<span>{number(high)}</span></p></figure>"
    )


def failures(summary: Summary, rows: Sequence[Sequence[ResultRow]]) -> str:
    """What failed, how often, what that means, and examples."""
    kinds = dict.fromkeys(kind for judge in summary.judges for kind in judge.failures)
    lead = "A failure is not a score: none of these counts as right or wrong anywhere on this page."
    if not kinds:
        return '<section><h2>Failures</h2><p class="lead">None: every judgment is a verdict.</p></section>'
    body = "".join(_failure(kind, [row for judge in rows for row in judge if row.outcome == kind]) for kind in kinds)
    return f'<section><h2>Failures</h2><p class="lead">{lead}</p>{body}</section>'


def _failure(kind: str, rows: Sequence[ResultRow]) -> str:
    judges = ", ".join(dict.fromkeys(row.judge for row in rows))
    examples = "".join(_example(row) for row in rows[:EXAMPLES])
    return (
        f'<details class="failure"><summary><b>{escape(kind)}</b> <span class="count">{number(len(rows))}</span> '
        f'<span class="why">{escape(FAILURES.get(kind, ""))} <small>({escape(judges)})</small></span></summary>'
        f"{examples}</details>"
    )


def _example(row: ResultRow) -> str:
    where = row.item_id if row.candidate is None else f"{row.item_id}, candidate {row.candidate}"
    text = f'<pre dir="auto">{escape(readable(row.text, 800))}</pre>' if row.text else '<p class="none">no reply</p>'
    return f"<h4>{escape(where)}</h4><p>{escape(readable(row.detail, 400))}</p>{text}"


def _style(place: int) -> str:
    return f"j{place % STYLES}"
