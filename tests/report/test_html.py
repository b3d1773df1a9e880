import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from assay.core.errors import OutputError
from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow
from assay.report.html import report_page, write_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--data--> &amp; \u2028 \ud800 \u202e"


class Page(HTMLParser):
    """What a browser would see: elements in order, and the text of each script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.raw, self.open, self.text = [], [], {}, None, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            self.open = dict(attrs).get("id", tag)
            self.raw[self.open] = ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.raw[self.open] += data
        else:
            self.text.append(data)


def hostile_rows():
    item = Item(
        id=HOSTILE, messages=(Message(role="user", content=HOSTILE),), candidates=(Candidate(text=HOSTILE),) * 2
    )
    same = {"judge": HOSTILE, "model": HOSTILE, "text": HOSTILE, "prompt": HOSTILE, "metadata": {HOSTILE: HOSTILE}}
    rows = [
        ResultRow(
            item_id=HOSTILE, outcome="verdict", candidate=0, scores=(1.0,), gold=(1.0,), flags=(HOSTILE,), **same
        ),
        ResultRow(item_id=HOSTILE, outcome="parse_error", candidate=1, detail=HOSTILE, gold=(0.0,), **same),
    ]
    return rows, item


@pytest.fixture
def hostile():
    rows, item = hostile_rows()
    return Page(report_page(rows, title=HOSTILE, items=[item], seconds=1.0, facts={HOSTILE: HOSTILE}))


def test_nothing_from_the_data_becomes_an_element(hostile):
    assert hostile.tags.count("script") == 2
    assert not set(hostile.tags) & {"img", "iframe", "object", "embed", "link", "base", "a", "video", "audio"}
    assert not [value for _, name, value in hostile.attributes if name == "class" and "<" in (value or "")]


def test_no_event_handler_no_address_no_inline_style(hostile):
    names = {name for _, name, _ in hostile.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "href", "action", "style", "srcset"}


def test_only_the_scripts_of_the_page_may_run(hostile):
    policy = next(value for _, name, value in hostile.attributes if name == "content" and "default-src" in value)
    assert "default-src 'none'" in policy
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(hostile.raw[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_data_comes_through_as_it_is(hostile):
    data = json.loads(hostile.raw["data"])
    shown = HOSTILE.replace("\ud800", "⟨U+D800⟩").replace("\u202e", "⟨U+202E⟩")
    assert data["rows"][0]["text"] == shown
    assert data["items"][HOSTILE]["candidates"] == [shown, shown]
    assert not re.search("[<>&\u2028]", hostile.raw["data"])


def test_the_page_can_be_written_even_with_what_has_no_utf8(tmp_path):
    rows, item = hostile_rows()
    path = tmp_path / "new" / "report.html"
    write_report(path, rows, title=HOSTILE, items=[item])
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_what_a_reader_sees_without_script():
    rows = [
        ResultRow(
            item_id=f"q{i}",
            judge="llm",
            outcome="verdict",
            scores=(1.0,),
            gold=(float(i % 2),),
            metadata={"topic": "ab"[i < 50]},
        )
        for i in range(100)
    ]
    rows.append(
        ResultRow(item_id="bad", judge="llm", outcome="parse_error", detail="no 1 and no 0", text="maybe", time=0.0)
    )
    text = " ".join(" ".join(Page(report_page(rows, title="A run")).text).split())
    assert "A run" in text
    assert "101 judgments" in text
    assert "1970-01-01 00:00 UTC" in text
    assert "50.0 % balanced accuracy" in text
    assert "At chance level: its scores are plumbing, not quality." in text
    assert "verdicts 100" in text
    assert "parse_error 1 the judge's reply holds no verdict that can be read" in text
    assert "no 1 and no 0 maybe" in text
    assert "topic" in text


def test_every_mark_of_the_template_is_filled(hostile):
    page = report_page([], title="empty")
    assert not re.search(r"<!--\w+-->", page)
    assert "None: every judgment is a verdict." in page


def test_five_thousand_rows_stay_a_page(tmp_path):
    rows = [
        ResultRow(
            item_id=f"q{i}",
            judge="j",
            outcome="verdict",
            scores=(float(i % 2),),
            gold=(1.0,),
            text="t" * 3000,
            prompt="p" * 3000,
        )
        for i in range(5000)
    ]
    write_report(tmp_path / "r.html", rows, title="large")
    assert (tmp_path / "r.html").stat().st_size < 12_000_000


def test_a_report_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write the report"):
        write_report(tmp_path / "file" / "r.html", [], title="t")
