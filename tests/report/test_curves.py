from __future__ import annotations

import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.training_runs import write_run

from assay.report.curves import MOST, Curve, Panel, panels, picture, round_ticks, step_ticks, svg, thinned
from assay.report.training import TrainingRun, read_training


def test_only_what_there_are_numbers_for_is_drawn(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    assert [panel.title for panel in panels(run)] == [
        "Reward",
        "Evaluation, pass@1",
        "KL",
        "Entropy",
        "Response length, tokens",
        "Failures and cut-off answers, share",
        "Seconds by phase",
        "Gradient norm",
        "Monitor",
    ]
    assert panels(TrainingRun(folder=tmp_path, lines=())) == []


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_ticks_are_round_few_and_around_the_values(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    if 0 < high - low < 1e-9 * max(abs(low), abs(high)):
        return
    ticks = round_ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert 2 <= len(ticks) <= 7
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert ticks == sorted(set(ticks))


def test_ticks_by_hand() -> None:
    assert round_ticks(0.0, 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert round_ticks(3.0, 3.0) == [2.6, 2.8, 3.0, 3.2, 3.4]
    assert step_ticks(20) == [0, 5, 10, 15, 20]
    assert step_ticks(1) == [0, 1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=2000))
def test_thinning_keeps_order_and_range(values: list[float]) -> None:
    points = list(enumerate(values))
    kept = thinned(points)
    assert len(kept) <= MOST
    assert [step for step, _ in kept] == sorted({step for step, _ in kept})
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert min(values) - slack <= min(v for _, v in kept)
    assert max(v for _, v in kept) <= max(values) + slack
    if len(points) <= MOST:
        assert kept == points


def test_a_curve_is_where_its_values_are() -> None:
    panel = Panel(title="Reward <1>", curves=(Curve(name="mean", points=[(0, 0.0), (2, 1.0), (4, 0.5)]),), steps=4)
    root = ElementTree.fromstring(svg(panel))
    points = next(one for one in root if one.tag == "polyline").attrib["points"]
    (x0, y0), (x1, y1), (x2, y2) = (tuple(map(float, point.split(","))) for point in points.split())
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(2 * (y2 - y1))
    assert root.attrib["aria-label"] == "Reward <1>: mean from 0 to 0.5"


def test_the_picture_is_a_png_of_its_size(tmp_path: Path) -> None:
    drawn = picture("Training run", panels(read_training(write_run(tmp_path / "run"))))
    data = drawn.png()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">2I", data[16:24]) == (drawn.width, drawn.height)
    size = struct.unpack(">I", data[33:37])[0]
    assert len(zlib.decompress(data[41 : 41 + size])) == drawn.height * (1 + 3 * drawn.width)
