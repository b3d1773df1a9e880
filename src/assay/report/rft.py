"""The report of rejection sampling, in the terminal and as Markdown: acceptance by source and by kind."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.spct.fates import Fate
from assay.spct.tally import Counts, GeneralCounts, RftReport

from .words import number, percent

_COLUMNS = ("items", "too easy", "samples", "right", "kept", "hinted", "right", "kept", "rows")


def print_report(console: Console, report: RftReport) -> None:
    """Print the tables, then what a reader must know."""
    for title, table in _tables(report):
        shown = Table(box=None, pad_edge=False, header_style="bold")
        shown.add_column(Text(title), no_wrap=True)
        for name in _COLUMNS:
            shown.add_column(name, justify="right")
        for name, counts in table.items():
            shown.add_row(Text(name), *_cells(counts))
        console.print(shown)
        console.print()
    for note in notes(report):
        console.print(Text(note), soft_wrap=True)


def markdown(report: RftReport) -> str:
    """The report as one Markdown page."""
    about = f"Judges {', '.join(f'`{one}`' for one in report.judges)}; models {', '.join(report.models) or 'none'}."
    lines = ["# Rejection sampling", "", about]
    for title, table in _tables(report):
        head = f"| {title} | {' | '.join(_COLUMNS)} |"
        lines += ["", head, f"|---|{'---:|' * len(_COLUMNS)}"]
        lines += [f"| {_cell(name)} | {' | '.join(_cells(counts))} |" for name, counts in table.items()]
    lines += ["", *(f"- {_cell(note)}" for note in notes(report))]
    if report.skipped:
        lines += ["", "## Items that were not sampled", ""]
        lines += [f"- {_cell(reason)}" for reason in report.skipped.values()]
    return "\n".join(lines) + "\n"


def notes(report: RftReport) -> Iterator[str]:
    """What the tables do not say."""
    total, plan = report.total, report.plan
    kept = "kept all the same" if plan.keep_easy else "left out"
    yield f"{number(total.too_easy)} items are too easy (every sample right) and are {kept}."
    if total.unfinished:
        yield (
            f"{number(total.unfinished)} items have no wrong sample, and samples that failed: they may be too easy and "
            "are left out. --fresh asks all again."
        )
    for name, fates in (("samples", total.samples), ("hinted samples", total.hinted)):
        told = ", ".join(f"{number(count)} {fate}" for fate, count in fates.items() if fate is not Fate.RIGHT)
        if told:
            yield f"Of the {name} {told}."
    if not plan.unhinted:
        yield "Right samples without a hint were left out on purpose."
    if not plan.hint:
        yield "No hinted samples were drawn."
    elif not plan.keep_hint:
        yield "The rows of hinted samples stand under the prompt without the hint."
    if report.general is not None:
        yield from _general(report.general, report)


def _general(general: GeneralCounts, report: RftReport) -> Iterator[str]:
    made = general.given + general.distilled
    share = percent(made / report.rows) if report.rows else "none"
    yield f"General rows: {number(made)} of {number(report.rows)} ({share}), out of {general.source}."
    if general.distilled:
        yield (
            f"{number(general.distilled)} of them are self-distilled: the answers are samples of the model that is to "
            "be trained, not of people or of a better model."
        )
    if made < general.wanted:
        yield (
            f"{number(general.wanted)} general rows were wanted, {number(general.wanted - made)} are missing: the file "
            f"holds {number(general.there)}, and {number(general.failed)} answers failed. None is taken twice."
        )


def _tables(report: RftReport) -> Iterator[tuple[str, dict[str, Counts]]]:
    yield "source", {**report.by_source, "all": report.total}
    if set(report.by_kind) != {"-"}:
        yield "kind", report.by_kind


def _cells(counts: Counts) -> tuple[str, ...]:
    return (
        number(counts.items),
        number(counts.too_easy),
        number(counts.asked),
        _share(counts.samples, counts.asked),
        number(counts.accepted),
        number(counts.hinted_asked),
        _share(counts.hinted, counts.hinted_asked),
        number(counts.hinted_accepted),
        number(counts.rows),
    )


def _share(fates: dict[Fate, int], asked: int) -> str:
    return percent(fates.get(Fate.RIGHT, 0) / asked) if asked else "–"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
