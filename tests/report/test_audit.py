"""The judge card as page, Markdown and table: the same figures, and nothing of a hostile name gets out of its place."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html.parser import HTMLParser

from rich.console import Console

from assay.bench.audit.card import Card
from assay.bench.audit.figure import Figure, Section, Table, share
from assay.report.audit_page import audit_page
from assay.report.audit_text import markdown, over_of, print_card, span_of, value_of

HOSTILE = "</style><script>alert(1)</script>|<img src=x onerror=alert(2)>\n# `**x**`"


def card(name: str = "pairwise") -> Card:
    order = Section(
        name="order",
        title="Order",
        about="Both orders.",
        figures=(
            share("verdict changes with the order", [True] * 3 + [False] * 5, failed=2),
            share("of these, for the first place", [True] * 3, blind=0.5),
            Figure(name="change", scale="difference", value=-0.25, low=-0.5, high=0.125, n=8, blind=0.0),
            Figure(name="kappa", scale="coefficient", value=0.4, low=0.1, high=0.7, n=8, blind=0.0),
            share("only failures", [], failed=4),
        ),
        tables=(Table(title="Strings", columns=("name", "text"), rows=((name, HOSTILE),)),),
        findings=(f"finding about {name}",),
        notes=("each 3 times",),
    )
    return Card(
        judge=name,
        identity="pairwise-abc",
        model=name,
        weight_version="",
        source=name,
        items=8,
        seed=3,
        sampling={"temperature": 0.0},
        judgments=20,
        failures={"parse_error": 2},
        prompt_tokens=1,
        completion_tokens=1,
        skipped=(name,),
        sections=(order, Section(name="length", title="Length", about="Filler.", absent=f"no {name}")),
    )


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.style = ""
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["style"] and not self.style:
            self.style = data
        self.text.append(data)


def test_figures_in_words() -> None:
    figures = {one.name: one for one in card().sections[0].figures}
    changed = figures["verdict changes with the order"]
    assert (value_of(changed), span_of(changed), over_of(changed)) == ("37.5 %", "13.7 to 69.4", "3 of 8, 2 failed")
    assert (value_of(figures["change"]), span_of(figures["change"])) == ("-25.0 points", "-50.0 to +12.5")
    assert (value_of(figures["kappa"]), span_of(figures["kappa"])) == ("0.400", "0.10 to 0.70")
    empty = figures["only failures"]
    assert (value_of(empty), span_of(empty), over_of(empty)) == ("–", "", "n = 0, 4 failed")


def test_the_page_shows_every_figure_and_runs_nothing() -> None:
    text = audit_page(card(HOSTILE))
    page = Page(text)
    shown = " ".join(page.text)
    for said in ("37.5 %", "3 of 8, 2 failed", "-25.0 points", "0.400", "4 failed", "parse_error", "Not measured"):
        assert said in shown
    assert not {"script", "img"} & set(page.tags)
    assert page.handlers == []
    policy = re.search(r"style-src 'sha256-([^']+)'", text)
    assert policy is not None
    assert policy[1] == base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert "http" not in re.sub(r"http-equiv", "", text), "nothing is fetched"


def test_markdown_keeps_its_tables_whole() -> None:
    text = markdown(card(HOSTILE))
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("| verdict changes")]
    assert rows == ["| verdict changes with the order | 37.5 % | 13.7 to 69.4 | 3 of 8, 2 failed |  |"]
    assert not [line for line in text.splitlines() if line.startswith("# `")]
    plain = markdown(card())
    assert "> finding about pairwise" in plain
    assert "Not measured: no pairwise." in plain
    assert "| parse_error | 2 |" in plain


def test_the_terminal_ends_with_what_must_be_known() -> None:
    out = io.StringIO()
    print_card(Console(file=out, width=100), card())
    lines = out.getvalue().strip().splitlines()
    assert lines[-2:] == ["failed judgments, in no figure above: parse_error 2", "finding: finding about pairwise"]
    assert any("37.5 %" in line and "3 of 8, 2 failed" in line for line in lines)
