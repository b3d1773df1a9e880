"""``RunDiff`` as one HTML file that needs nothing else. It has no script; every text from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from assay.data import ResultRow

from .diff import Change, RunDiff
from .diff_text import COMPARED, said
from .figures import Figure, figures
from .page import allow, part, write_page
from .sample import readable
from .words import number, percent

MOST = 200
"""Changes that a page shows in full."""
_LONGEST = 4000


def write_diff(path: Path, found: RunDiff, *, title: str) -> None:
    """Write the page. Raises OutputError: the file cannot be written."""
    write_page(path, diff_page(found, title=title))


def diff_page(found: RunDiff, *, title: str) -> str:
    """The page as text."""
    style = part("page.css")
    policy = f"default-src 'none'; style-src {allow(style)}; base-uri 'none'; form-action 'none'"
    left = len(found.changes) - MOST
    more = f"<p>{number(left)} more changes are not shown.</p>" if left > 0 else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main><h1>{escape(title)}</h1>"
        f"<section><h2>What changed</h2>{_table(_counts(found))}</section>"
        f"<section><h2>Before and after</h2>{_table(_compared(found))}</section>"
        f"<section><h2>Changes</h2>{''.join(map(_change, found.changes[:MOST]))}{more}</section></main></body></html>"
    )


def _counts(found: RunDiff) -> Iterable[tuple[str, ...]]:
    yield "judgments in both", number(found.pairs), ""
    for kind, count in found.counts.items():
        yield str(kind), number(count), percent(count / found.pairs)
    for name, count in (
        ("only before", found.only_before),
        ("only after", found.only_after),
        ("about other content", found.other_content),
        ("wrong became right", found.mended),
        ("right became wrong", found.broken),
    ):
        if count:
            yield name, number(count), ""


def _compared(found: RunDiff) -> Iterable[tuple[str, ...]]:
    before, after = figures(found.before), figures(found.after)
    yield "judge", found.before.identity, found.after.identity
    yield from (
        (name, _figure(before[name]), _figure(after[name]))
        for name in COMPARED
        if before[name].value or after[name].value
    )


def _figure(figure: Figure) -> str:
    return f"{figure.value}  {figure.aside}".strip()


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = (
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(value)}</td>" for value in values)}</tr>'
        for name, *values in rows
    )
    return f'<table class="groups"><tbody>{"".join(lines)}</tbody></table>'


def _change(change: Change) -> str:
    before = change.before
    where = before.item_id if before.candidate is None else f"{before.item_id}, candidate {before.candidate + 1}"
    gold = "" if before.own_gold is None else f" · gold {', '.join(map(number, before.own_gold))}"
    sides = "".join(
        _side(name, row, right)
        for name, row, right in zip(("before", "after"), (before, change.after), change.right, strict=True)
    )
    return (
        f'<details class="failure"><summary><b>{escape(change.kind)}</b> '
        f'<span class="why">{escape(where + gold)}</span></summary>{sides}</details>'
    )


def _side(name: str, row: ResultRow, right: bool | None) -> str:
    mark = "" if right is None else " · right" if right else " · wrong"
    text = (
        f'<pre dir="auto">{escape(readable(row.text, _LONGEST))}</pre>' if row.text else '<p class="none">no reply</p>'
    )
    return f"<h4>{name}{mark}</h4><p>{escape(readable(said(row), 400))}</p>{text}"
