from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.training_runs import HOSTILE, write_run

from assay.core.errors import OutputError
from assay.report.training import read_training
from assay.report.training_page import training_page, write_curves, write_training_page
from assay.tracking.lines import MetricLines


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_the_page_shows_the_run(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "first-try"))
    text = training_page(run)
    said = " ".join(_Page(text).said)
    for told in ("first-try", "aime, pass@1", "57.5 %", "parse_error", "because the answer is 4", "generate", "split"):
        assert told in said
    assert text.count('class="curves"') == 9
    assert "monitor: alarms at 1 step" in said


def test_no_key_gets_onto_the_page(tmp_path: Path) -> None:
    text = training_page(read_training(write_run(tmp_path / "run")))
    assert "hush" not in text
    assert text.count("(not shown)") == 2


def test_answers_cannot_get_out_of_their_place(tmp_path: Path) -> None:
    text = training_page(read_training(write_run(tmp_path / "run", text=HOSTILE)))
    page = _Page(text)
    assert "script" not in page.tags
    assert "alert(1)" in " ".join(page.said)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    allowed = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{allowed}'" in text
    assert "script-src" not in text


def test_long_answers_are_cut_and_say_so(tmp_path: Path) -> None:
    text = training_page(read_training(write_run(tmp_path / "run", text="x" * 9000)))
    assert "characters left out" in text
    assert "x" * 4000 not in text


def test_page_and_picture_are_written_into_the_run(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    assert write_training_page(run) == tmp_path / "run" / "report.html"
    assert write_curves(run, tmp_path / "deep" / "curves.png") == tmp_path / "deep" / "curves.png"
    assert (tmp_path / "deep" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    MetricLines(tmp_path).resume(0)
    run = read_training(tmp_path)
    assert "No step is made yet" in training_page(run)
    assert write_curves(run) is None


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    run = read_training(write_run(tmp_path / "run"))
    with pytest.raises(OutputError, match="report"):
        write_training_page(run, tmp_path / "run" / "config.json" / "page.html")
