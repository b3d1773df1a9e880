from __future__ import annotations

import re

import pytest

from assay.report.blocks import picture_of
from assay.report.plot import HEIGHT, LEFT, TOP, WIDTH, Level, Line, Plot, Point, figure, log_ticks, plot_svg
from assay.report.plot_picture import plot_block, run_colour
from assay.report.row_picture import legend_block, rows_block
from assay.report.rows import Mark, Row, Rows, log_range, rows_table

VOTES = Plot(
    title="Score by votes",
    x_name="k, votes",
    lines=(
        Line(
            name="Voting@k",
            points=tuple(Point(x=k, y=y, low=y - 2, high=y + 2) for k, y in ((1, 60.0), (2, 62.0), (8, 70.0))),
            colour=1,
            hollow=True,
        ),
    ),
    levels=(Level(name="greedy", y=65.0),),
)


@pytest.mark.parametrize(
    ("values", "base", "marks"),
    [
        ([1, 8], 2, [1, 2, 4, 8]),
        ([1, 6], 2, [1, 2, 4, 8]),
        ([1, 32], 2, [1, 2, 4, 8, 16, 32]),
        ([4], 2, [4]),
        ([1, 4096], 2, [1, 4, 16, 64, 256, 1024, 4096]),
        ([16, 671], 10, [10, 20, 50, 100, 200, 500, 1000]),
        ([2.4, 37], 10, [2, 5, 10, 20, 50]),
        ([0.135, 671], 10, [0.1, 1, 10, 100, 1000]),
    ],
)
def test_marks_of_a_logarithmic_axis(values: list[float], base: int, marks: list[float]) -> None:
    assert log_ticks(values, base) == marks


def test_equal_steps_of_a_factor_lie_equally_far_apart() -> None:
    assert VOTES.x(2) - VOTES.x(1) == pytest.approx((WIDTH - 24) / 3)
    assert VOTES.x(8) == pytest.approx(LEFT + WIDTH - 12)
    low, high = VOTES.y_ticks[0], VOTES.y_ticks[-1]
    assert low <= 58
    assert high >= 72
    assert VOTES.y(low) == TOP + HEIGHT
    assert VOTES.y(high) == TOP


def test_greedy_is_a_dashed_level_and_intervals_reach_from_low_to_high() -> None:
    text = plot_svg(VOTES)
    assert text.count('class="level plain-level"') == 1
    assert text.count("<circle") == 3
    reach = re.search(r'class="reach j1" x1="[\d.]+" x2="[\d.]+" y1="([\d.]+)" y2="([\d.]+)"', text)
    assert reach is not None
    assert (float(reach[1]), float(reach[2])) == pytest.approx((VOTES.y(58), VOTES.y(62)), abs=0.06)
    assert "greedy 65.0" in figure(VOTES)


def test_a_name_cannot_get_out_of_its_place() -> None:
    line = Line(name="<b>&\"'", points=(Point(x=1, y=1),), colour=0)
    text = figure(Plot(title="<i>", x_name="<u>", lines=(line, line), levels=(Level(name="<s>", y=2, colour=0),)))
    assert not re.search(r"<(b|u|s)>", text)
    assert "&lt;b&gt;" in text


def test_a_plot_is_a_picture_with_its_colours() -> None:
    picture = picture_of("Votes", [plot_block(VOTES), plot_block(VOTES)])
    assert picture.png().startswith(b"\x89PNG")
    assert {box.colour for box in picture.boxes} >= {run_colour(1), "#5c6169"}
    assert all(box.x + box.width <= picture.width for box in picture.boxes)
    assert all(label.y + 14 <= picture.height for label in picture.labels)
    beside = [label.x for label in picture.labels if label.text == "Score by votes"]
    assert beside[1] > beside[0]


def rows(*values: float | None, log: bool = False) -> Rows:
    marks = tuple(Mark(place=place, value=value, text=str(value)) for place, value in enumerate(values))
    return Rows(title="T", rows=(Row(name="<a>", marks=marks, link="there"),), low=1, high=100, log=log)


def test_where_a_mark_lies() -> None:
    assert rows().at(50.5) == 0.5
    assert rows(log=True).at(10) == 0.5
    assert (rows().at(0), rows().at(200)) == (0.0, 1.0)
    assert log_range([241, 5224]) == (100.0, 10_000.0)
    assert log_range([0.2]) == (1.0, 10.0)


def test_rows_name_their_figures_and_leave_out_what_is_not_there() -> None:
    text = rows_table(rows(10, None))
    assert text.count("<circle") == 1
    assert "None" in text
    assert '<a href="#there">&lt;a&gt;</a>' in text
    block = rows_block(rows(10, None))
    assert [label.text for label in block.labels] == ["T (1 to 100)", "<a>", "10", "None"]
    assert len(block.boxes) == 2
    legend = legend_block(["one", "other"])
    assert [(box.colour, label.text) for box, label in zip(legend.boxes, legend.labels, strict=True)] == [
        (run_colour(0), "one"),
        (run_colour(1), "other"),
    ]
