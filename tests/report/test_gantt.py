from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError, OutputError
from assay.placement import PlacementFlags, PlacementPlan, Prediction, Span, parse_cluster, place
from assay.report.gantt import IDLE, PLOT, gantt, write_gantt
from assay.report.glyphs import dots
from assay.report.picture import Box, Label, Picture


def planned(rollout: int, genrm: int) -> PlacementPlan:
    flags = PlacementFlags.model_validate(
        {
            "genrm_model_path": "judge",
            "genrm_engine_config": {"mem_fraction_static": 0.3},
            "sglang_mem_fraction_static": 0.6,
            "resource": {"actor": [1, 2], "rollout": [1, rollout], "genrm": [1, genrm]},
            "colocate": True,
        }
    )
    prediction = Prediction(
        seconds=10.0,
        phases={"rollout": 4.0, "train": 6.0},
        spans=(
            Span(name="rollout", claim="rollout", gpus=(0,), start=0.0, end=4.0),
            Span(name="__default__", claim="__default__", gpus=(genrm - 1,), start=1.0, end=4.0, busy=0.5),
            Span(name="train", claim="actor", gpus=(0, 1), start=4.0, end=10.0),
        ),
        idle=(0.0, 0.1),
    )
    return replace(place(flags, parse_cluster("1x2xH200")), prediction=prediction)


def bars(plan: PlacementPlan) -> list[Box]:
    assert plan.prediction is not None
    drawn = gantt(plan, plan.prediction).boxes
    return [box for box in drawn if box.title not in ("", "idle")]


def test_bars_stand_where_their_seconds_are() -> None:
    rollout, judge, *train = bars(planned(1, 1))
    assert rollout.width == pytest.approx(0.4 * PLOT)
    assert judge.x - rollout.x == pytest.approx(0.1 * PLOT)
    assert "busy 50.0 %" in judge.title
    assert [bar.width for bar in train] == [pytest.approx(0.6 * PLOT)] * 2


def test_engines_that_share_a_card_share_its_row() -> None:
    apart, shared = bars(planned(1, 1)), bars(planned(2, 2))
    assert shared[0].height == apart[0].height / 2
    assert shared[1].y > shared[0].y


def test_what_nobody_uses_is_grey() -> None:
    plan = planned(1, 1)
    assert plan.prediction is not None
    assert sum(box.colour == IDLE for box in gantt(plan, plan.prediction).boxes) == 2


def test_a_picture_is_a_png_that_can_be_read() -> None:
    picture = Picture(
        width=20,
        height=16,
        boxes=(
            Box(x=2, y=3, width=4, height=5, colour="#ff0000"),
            Box(x=18, y=0, width=99, height=1, colour="#00ff00"),
        ),
        labels=(Label(x=8, y=1, text="I", colour="#0000ff"),),
        paper="#ffffff",
    )
    data = picture.png()
    assert struct.unpack(">2I", data[16:24]) == (20, 16)
    start = data.index(b"IDAT")
    (size,) = struct.unpack(">I", data[start - 4 : start])
    raw = zlib.decompress(data[start + 4 : start + 4 + size])
    pixel = {(x, y): raw[y * 61 + 1 + 3 * x : y * 61 + 4 + 3 * x].hex() for y in range(16) for x in range(20)}
    assert pixel[2, 3] == pixel[5, 7] == "ff0000"
    assert pixel[6, 3] == pixel[2, 8] == "ffffff"
    assert pixel[19, 0] == "00ff00"
    # The stem of the I: third dot of five, two pixels wide.
    assert pixel[8 + 4, 1 + 6] == pixel[8 + 5, 1 + 6] == "0000ff"


def test_a_letter_that_there_is_none_of_is_a_box() -> None:
    assert all(dots("判")[0])


def test_data_is_no_markup(tmp_path: Path) -> None:
    plan = replace(planned(1, 1), warnings=("<script>",))
    write_gantt(tmp_path / "plan.html", plan)
    assert "<script>" not in (tmp_path / "plan.html").read_text()


def test_other_endings_and_folders_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.html, \.svg or \.png"):
        write_gantt(tmp_path / "plan.pdf", planned(1, 1))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write the picture"):
        write_gantt(tmp_path / "file" / "plan.svg", planned(1, 1))


def test_less_and_more_are_mirrored_letters() -> None:
    assert [row[::-1] for row in dots("<")] == list(dots(">"))
    assert dots("<") != dots("\u2603"), "a letter that there is none of"
