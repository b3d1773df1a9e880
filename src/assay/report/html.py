"""The report as one HTML file that needs nothing else: no network, no server, no package.

Everything that comes from data is hostile until escaped: candidates are written by models. Static parts go through
``escape``; the judgments go as JSON that cannot close its element and are put on the page as text nodes; and a content
security policy lets nothing run but the page's own script.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.core.errors import OutputError
from assay.core.types import Item
from assay.data import ResultRow
from assay.data.results import by_judge

from .sample import Sample, sample
from .sections import cards, facts_line, failures, groups, scores
from .summary import Summary, summarise


def write_report(
    path: str | Path,
    rows: Iterable[ResultRow],
    *,
    title: str,
    items: Iterable[Item] = (),
    seconds: float | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write the page of a run.

    Args:
        path: the file to write; its folder is made.
        rows: the judgments, of one judge or several.
        title: what the run is called.
        items: what was judged, so that the page can show questions, answers and references beside the verdicts.
        seconds: how long the judging took.
        facts: further facts of the run for the head of the page.

    Raises:
        OutputError: the file cannot be written.
    """
    page = report_page(list(rows), title=title, items=items, seconds=seconds, facts=facts)
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A lone surrogate has no UTF-8; its escape is right in JSON, and harmless elsewhere.
        partial.write_bytes(page.encode("utf-8", "backslashreplace"))
        os.replace(partial, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write the report {str(target)!r}: {error.strerror or error}") from error


def report_page(
    rows: list[ResultRow],
    *,
    title: str,
    items: Iterable[Item] = (),
    seconds: float | None = None,
    facts: Mapping[str, str] | None = None,
) -> str:
    """The page as text."""
    summary = summarise(rows, seconds=seconds)
    by = list(by_judge(rows).values())
    keys = list(dict.fromkeys(key for judge in summary.judges for key in judge.groups))
    shown = sample(by, items, keys)
    style, script = _part("page.css"), _part("page.js")
    return _fill(
        _part("page.html"),
        {
            "title": escape(title),
            "policy": f"style-src {_allow(style)}; script-src {_allow(script)}",
            "style": style,
            "script": script,
            "facts": facts_line(summary, facts or {}),
            "cards": cards(summary),
            "groups": groups(summary, keys),
            "scores": scores(summary, by),
            "failures": failures(summary, by),
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


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """Every ``<!--name-->`` replaced in one pass, so that what is put in is not looked at again."""
    return re.sub(r"<!--(\w+)-->", lambda found: parts[found[1]], template)


def _part(name: str) -> str:
    return files("assay.report").joinpath(name).read_text(encoding="utf-8")


def _allow(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
