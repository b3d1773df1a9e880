"""The report as one HTML file that needs nothing else: no network, no server, no package.

Everything that comes from data is hostile until escaped: candidates are written by models. Static parts go through
``escape``; the judgments go as JSON that cannot close its element and are put on the page as text nodes; and a content
security policy lets nothing run but the page's own script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from assay.core.types import Item
from assay.data import ResultRow
from assay.data.decisions import judgments
from assay.data.results import by_judge

from .cost import Rates
from .page import allow, fill, part, write_page
from .sample import Sample, sample
from .sections import cards, facts_line, failures, groups, scores
from .summary import Summary, summarise
from .training_story import TrainingStory, training_section


def write_report(
    path: str | Path,
    rows: Iterable[ResultRow],
    *,
    title: str,
    items: Iterable[Item] = (),
    seconds: float | None = None,
    facts: Mapping[str, str] | None = None,
    rates: Rates | None = None,
    training: TrainingStory | None = None,
) -> None:
    """Write the page of a run.

    Args:
        path: the file to write; its folder is made.
        rows: the votes, of one judge or several.
        title: what the run is called.
        items: what was judged, so that the page can show questions, answers and references beside the verdicts.
        seconds: how long the judging took.
        facts: further facts of the run for the head of the page.
        rates: what to reckon cost with.
        training: a training run that belongs to it.

    Raises:
        OutputError: the file cannot be written.
    """
    page = report_page(
        list(rows), title=title, items=items, seconds=seconds, facts=facts, rates=rates, training=training
    )
    write_page(path, page)


def report_page(
    rows: list[ResultRow],
    *,
    title: str,
    items: Iterable[Item] = (),
    seconds: float | None = None,
    facts: Mapping[str, str] | None = None,
    rates: Rates | None = None,
    training: TrainingStory | None = None,
) -> str:
    """The page as text."""
    summary = summarise(rows, seconds=seconds, rates=rates)
    by = [judgments(group) for group in by_judge(rows).values()]
    keys = list(dict.fromkeys(key for judge in summary.judges for key in judge.groups))
    shown = sample(by, items, keys)
    style, script = part("page.css"), part("page.js")
    return fill(
        part("page.html"),
        {
            "title": escape(title),
            "policy": f"style-src {allow(style)}; script-src {allow(script)}",
            "style": style,
            "script": script,
            "facts": facts_line(summary, facts or {}),
            "cards": cards(summary),
            "groups": groups(summary, keys),
            "scores": scores(summary, by),
            "failures": failures(summary, by),
            "training": "" if training is None else training_section(training),
            "data": _data(summary, shown, keys),
        },
    )


def _data(summary: Summary, shown: Sample, keys: list[str]) -> str:
    """What the script needs, as JSON that holds no ``<``, ``>`` or ``&`` and so cannot leave its element."""
    value: dict[str, Any] = {
        "judges": [[judge.name, judge.label] for judge in summary.judges],
        "keys": keys,
        "total": shown.total,
        "items": shown.items,
        "rows": shown.rows,
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return re.sub(r"[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
