"""The card of an adapter as Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.engines.embedded.adapter_card import AdapterCard
from assay.engines.embedded.shipped import DEFAULT_ADAPTER, card_of, find_adapter, shipped
from assay.report.adapter_page import BEGIN, END, NOTHING, card_markdown, replace_card

PAGE = Path(__file__).parents[2] / "docs" / "shipped_judge.md"

CARD = AdapterCard.model_validate(
    {
        "name": "tiny-judge",
        "summary": "A judge.",
        "license": "Apache-2.0",
        "base": {"model": "m", "source": "package 1.0, m.gguf", "state_sha256": "ab" * 32},
        "judges": {"verifier": {"target": "forms", "temperature": 0.0}},
        "data": [{"name": "generated", "rows": 1200000, "note": "seed 1"}],
        "training": {"steps": 1400, "lr": 0.001, "peak": None},
        "figures": [
            {"title": "Held out", "columns": ["kind", "n", "%"], "rows": [["a|b", 4000, 98.25]], "note": "One run."}
        ],
        "limits": ["Short answers only."],
    }
)


def test_every_field_of_the_card_is_on_the_page() -> None:
    assert card_markdown(CARD, "0123456789abcdef") == "\n".join(
        [
            "## tiny-judge",
            "",
            "A judge.",
            "",
            "| what |  |",
            "|---|---|",
            "| Base model | m |",
            f"| Base weights | package 1.0, m.gguf; SHA-256 of the tensors `{'ab' * 32}` |",
            "| Adapter | digest `0123456789ab` |",
            "| License | Apache-2.0 |",
            "| Judge `verifier` | writes the normal forms of all answers as a closed thought, then the label or "
            "the scores; at most 200 tokens, "
            "temperature 0 |",
            "",
            "### Trained on",
            "",
            "| data | rows |  |",
            "|---|---|---|",
            "| generated | 1,200,000 | seed 1 |",
            "",
            "### Training",
            "",
            "| what |  |",
            "|---|---|",
            "| steps | 1,400 |",
            "| lr | 0.001 |",
            "| peak | – |",
            "",
            "### Held out",
            "",
            "| kind | n | % |",
            "|---|---|---|",
            "| a\\|b | 4,000 | 98.25 |",
            "",
            "One run.",
            "",
            "### Limits",
            "",
            "- Short answers only.",
        ]
    )


def test_the_card_takes_its_place_on_a_page() -> None:
    page = f"# Judge\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_card(page, "new", "p.md") == f"# Judge\n{BEGIN}\nnew\n{END}\nafter\n"
    for wrong in ("# Judge\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\nx\n", page + page):
        with pytest.raises(InputError, match=r"'p\.md' needs the lines"):
            replace_card(wrong, "new", "p.md")


def test_the_page_of_the_documentation_is_that_of_the_package() -> None:
    """To mend it: assay model card --into docs/shipped_judge.md"""
    text = NOTHING
    if DEFAULT_ADAPTER in shipped():
        lora = find_adapter(DEFAULT_ADAPTER)
        assert lora is not None
        text = card_markdown(card_of(DEFAULT_ADAPTER), lora.digest)
    page = PAGE.read_text("utf-8")
    assert replace_card(page, text, PAGE.name) == page
