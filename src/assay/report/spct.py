"""The report of a run of SPCT: Markdown, JSON, a picture of the curves, one page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from assay.core.files import write_whole
from assay.spct.evaluation import GREEDY, META, VOTING
from assay.spct.results import Figure, ModelFigures, SpctResult

from .bench.markdown import table as markdown_table
from .blocks import picture_of
from .page import allow, fill, part, write_page
from .plot import Level, Line, Plot, Point, figure
from .plot_picture import plot_block
from .spct_tables import Table, facts, name_of, notes, tables

NAME = "report"
TITLE = "A judge made by SPCT"


def write_reports(folder: Path, result: SpctResult) -> list[Path]:
    """Write all forms; returns the files. Raises OutputError."""
    files = {form: folder / f"{NAME}.{form}" for form in ("md", "json", "png", "html")}
    write_page(files["md"], markdown(result))
    write_page(files["json"], json.dumps(result.model_dump(mode="json"), indent=1) + "\n")
    write_whole(files["png"], picture_of(TITLE, [plot_block(one) for one in plots(result)]).png())
    write_page(files["html"], page(result))
    return list(files.values())


def markdown(result: SpctResult) -> str:
    """The report as one Markdown page."""
    about = " · ".join(f"{value} {name}" if name != "votes" else value for value, name in facts(result))
    lines = [f"# {TITLE}", "", about, ""]
    lines += [f"- {note}" for note in notes(result)]
    for one in tables(result):
        lines += ["", f"## {one.title}", "", one.lead, "", *markdown_table(one.columns, one.rows)]
    return "\n".join(lines) + "\n"


def page(result: SpctResult) -> str:
    """The report as one HTML page."""
    css = part("page.css")
    drawn = "".join(map(figure, plots(result)))
    said = "".join(f'<p class="lead">{escape(note)}</p>' for note in notes(result))
    sections = "".join(map(_section, tables(result)))
    return fill(
        part("page.bench.html"),
        {
            "title": escape(TITLE),
            "policy": f"style-src {allow(css)}",
            "style": css,
            "facts": "".join(f"<li><b>{escape(value)}</b> {escape(name)}</li>" for value, name in facts(result)),
            "body": f'<section>{said}<div class="columns">{drawn}</div></section>{sections}',
            "footer": "Figures are in percent and points; brackets hold what the paper printed.",
        },
    )


def plots(result: SpctResult) -> list[Plot]:
    """Accuracy against votes, with and without the meta RM (the paper's figure 1): all models, and the last alone."""
    last = result.models[-1]
    found = [_plot("Accuracy by votes", result, result.models)]
    return found if len(result.models) == 1 else [*found, _plot(f"The same, {name_of(last.model)}", result, (last,))]


def _plot(title: str, result: SpctResult, shown: Sequence[ModelFigures]) -> Plot:
    """A model has its colour in every plot."""
    lines: list[Line] = []
    levels: list[Level] = []
    for one in shown:
        colour, name = result.models.index(one), name_of(one.model)
        voting, meta = _points(one, VOTING), _points(one, META)
        if meta:
            # With one vote there is nothing to choose from: both curves begin at the same point.
            lines.append(Line(name=f"{name}: MetaRM@k", points=(voting[0], *meta), colour=colour))
        lines.append(Line(name=f"{name}: Voting@k", points=voting, colour=colour, hollow=True))
        levels.append(Level(name=f"{name}: greedy", y=100 * one.series[GREEDY].accuracy.value, colour=colour))
    return Plot(title=title, x_name="k, votes", lines=tuple(lines), levels=tuple(levels))


def _points(one: ModelFigures, start: str) -> tuple[Point, ...]:
    found = {int(name.removeprefix(start)): one.series[name].accuracy for name in one.series if name.startswith(start)}
    return tuple(_point(k, found[k]) for k in sorted(found))


def _point(k: int, found: Figure) -> Point:
    return Point(x=k, y=100 * found.value, low=100 * found.low, high=100 * found.high)


def _section(one: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in one.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in one.rows)
    return (
        f'<section><h2>{escape(one.title)}</h2><p class="lead">{escape(one.lead)}</p>'
        f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>'
    )
