"""Two compared runs in words, in the terminal and as Markdown: the same as on their page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..words import number
from .comparison import ComparedBenchmark, Comparison, Difference
from .figures import points
from .markdown import cell, table
from .told import Fact, grouped

ABOUT = (
    "Over the cases that both runs have. Intervals and p of the bootstrap: the cases resampled, both runs on "
    "the same ones. The sign test counts the cases that one of the runs gets better. No p is corrected for "
    "the number of figures."
)
COLUMNS = ("", "before", "after", "difference", "95 %", "p", "n")


def print_comparison(console: Console, found: Comparison) -> None:
    """A row for each benchmark, what is not shared, and what else differs."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in (*COLUMNS, "better / worse", "p, sign test"):
        shown.add_column(name, justify="right" if name else "left")
    for one in found.benchmarks:
        shown.add_row(*map(Text, (*row(one.title, one.score), *_signed(one))))
    if found.overall is not None:
        shown.add_row(*map(Text, row("Overall", found.overall)))
    console.print(Text(f"before: {found.before}, after: {found.after}", style="dim"), soft_wrap=True)
    console.print(shown)
    told = grouped((one.title, line) for one in found.benchmarks for line in remarks(one))
    for line in (*told, *alone(found)):
        console.print(Text(line, style="yellow"), soft_wrap=True)


def comparison_markdown(found: Comparison) -> str:
    """The comparison as one Markdown page."""
    lines = [f"# {cell(found.after)} against {cell(found.before)}", "", ABOUT, ""]
    scores = [row(one.title, one.score) for one in found.benchmarks]
    scores += [] if found.overall is None else [row("Overall", found.overall)]
    lines += [*table(COLUMNS, scores), *(part for line in alone(found) for part in ("", f"{cell(line)}."))]
    for one in found.benchmarks:
        lines += ["", f"## {cell(one.title)}", "", f"{cell(conclusion(one.score))}.", ""]
        lines += table(("", "", ""), [(fact.name, fact.value, fact.aside) for fact in facts(one)])
        lines += [part for line in remarks(one) for part in ("", f"> {cell(line)}")]
        if len(one.figures) > 1:
            lines += [
                "",
                *table(COLUMNS, [row(f"{'– ' * figure.depth}{figure.name}", figure) for figure in one.figures[1:]]),
            ]
    return "\n".join(lines) + "\n"


def conclusion(score: Difference) -> str:
    """What the interval of a difference says."""
    if score.low is None or score.high is None:
        return f"{score.value:+.1f} points; not resampled, so nothing is said of chance"
    if is_told(score):
        return f"{'higher' if score.value > 0 else 'lower'} by {abs(score.value):.1f} points"
    return f"{score.value:+.1f} points, which cannot be told from no difference"


def is_told(score: Difference) -> bool:
    """Whether the interval of a difference leaves out 0."""
    return score.low is not None and score.high is not None and (score.low > 0 or score.high < 0)


def facts(one: ComparedBenchmark) -> list[Fact]:
    """Series, cases, and the tests."""
    of = one.series[0] if one.series[0] == one.series[1] else " and ".join(one.series)
    found = [Fact(name="score of", value=of), Fact(name="cases that both have", value=number(one.shared))]
    if one.score.p is not None:
        found.append(
            Fact(name="p, paired bootstrap", value=chance(one.score.p), aside=f"{number(len(one.draws))} draws")
        )
    if one.signs is not None:
        test = "McNemar, exact" if one.signs.binary else "sign test, exact"
        counts = f"{number(one.signs.better)} better, {number(one.signs.worse)} worse, {number(one.signs.same)} alike"
        found += [Fact(name="cases after", value=counts), Fact(name=f"p, {test}", value=chance(one.signs.p))]
    return found


def remarks(one: ComparedBenchmark) -> list[str]:
    """What is not shared, and what was asked or counted otherwise."""
    found = [
        f"{number(count)} cases only {name}, which count for nothing here"
        for name, count in (("before", one.only_before), ("after", one.only_after))
        if count
    ]
    return [*found, f"differs: {'; '.join(one.notes)}"] if one.notes else found


def alone(found: Comparison) -> list[str]:
    """Benchmarks that only one run has."""
    pairs = (("before", found.only_before), ("after", found.only_after))
    return [f"only {name}: {', '.join(titles)}" for name, titles in pairs if titles]


def row(name: str, figure: Difference) -> tuple[str, ...]:
    """A figure as ``COLUMNS``."""
    n = "" if figure.n is None else number(figure.n)
    p = "" if figure.p is None else chance(figure.p)
    return name, points(figure.before), points(figure.after), f"{figure.value:+.1f}", reach_of(figure), p, n


def reach_of(figure: Difference) -> str:
    """The interval of a difference; empty where there is none."""
    return "" if figure.low is None or figure.high is None else f"{figure.low:+.1f} to {figure.high:+.1f}"


def chance(p: float) -> str:
    """A p."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _signed(one: ComparedBenchmark) -> Iterator[str]:
    if one.signs is not None:
        yield f"{number(one.signs.better)} / {number(one.signs.worse)}"
        yield chance(one.signs.p)
