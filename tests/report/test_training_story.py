from __future__ import annotations

from pathlib import Path

from tests.report.test_html import Page
from tests.report.training_runs import write_run

from assay.report.html import report_page
from assay.report.training import read_training
from assay.report.training_story import TrainingStory, training_section


def story(folder: Path, lead: str = "A small policy.") -> TrainingStory:
    run = read_training(write_run(folder))
    return TrainingStory(run=run, lead=lead, right=[(0, 0.2), (10, 0.55), (20, 0.9)], page="training/run/a page.html")


def test_the_section_tells_before_and_after_and_draws_both_curves(tmp_path: Path) -> None:
    page = Page(training_section(story(tmp_path)))
    text = " ".join(" ".join(page.text).split())
    assert "20.0 % before" in text
    assert "90.0 % after" in text
    assert page.tags.count("svg") == 2
    assert ("a", "href", "training/run/a%20page.html") in page.attributes
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert "from 0.2 to 0.9" in labels[0]


def test_it_stands_in_the_report_and_only_where_there_was_training(tmp_path: Path) -> None:
    told = report_page([], title="Demo", training=story(tmp_path, lead="<b>hostile"))
    assert "&lt;b&gt;hostile" in told
    assert "<b>hostile" not in told
    assert 'id="training"' not in report_page([], title="Demo")
