"""An adapter's ``card.json`` as Markdown: no figure on the page is typed by hand. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.errors import InputError
from assay.engines.embedded.adapter_card import AdapterCard, Cell

BEGIN, END = "<!-- card -->", "<!-- /card -->"
"""Lines of a page between which the card stands."""

NOTHING = "The package holds no adapter: the bundled model judges as it comes."


def card_markdown(card: AdapterCard | None, digest: str = "") -> str:
    """The card as the sections of a page; a sentence where there is none."""
    return NOTHING if card is None else "\n".join(_lines(card, digest)).strip()


def replace_card(page: str, text: str, name: str) -> str:
    """``page`` with ``text`` between its two lines.

    Raises:
        InputError: the lines are not there, once each and in order.
    """
    before, begun, rest = page.partition(f"{BEGIN}\n")
    _, ended, after = rest.partition(f"{END}\n")
    if not begun or not ended or BEGIN in after or END in before:
        raise InputError(f"{name!r} needs the lines {BEGIN} and {END}, once each, to put the card between")
    return f"{before}{BEGIN}\n{text}\n{END}\n{after}"


def _lines(card: AdapterCard, digest: str) -> Iterator[str]:
    yield from (f"## {card.name}", "", card.summary, "")
    base = card.base
    facts: list[Sequence[Cell]] = [
        ("Base model", base.model),
        ("Base weights", f"{base.source}; SHA-256 of the tensors `{base.state_sha256}`"),
        ("Adapter", f"digest `{digest[:12]}`" if digest else None),
        ("License", card.license),
    ]
    for judge, form in card.judges.items():
        sampling = form.sampling
        said = f"writes {_TARGETS[form.target]}; at most {sampling.max_new_tokens} tokens"
        warm = "" if sampling.temperature is None else f", temperature {_cell(sampling.temperature)}"
        needs = "; only with a reference" if form.needs_reference else ""
        facts.append((f"Judge `{judge}`", said + warm + needs))
    yield from _table(("what", ""), facts)
    if card.data:
        rows = [(part.name, part.rows, part.note) for part in card.data]
        yield from ("", "### Trained on", "", *_table(("data", "rows", ""), rows))
    if card.training:
        yield from ("", "### Training", "", *_table(("what", ""), list(card.training.items())))
    for figures in card.figures:
        yield from ("", f"### {figures.title}", "", *_table(figures.columns, figures.rows))
        if figures.note:
            yield from ("", figures.note)
    if card.limits:
        yield from ("", "### Limits", "", *(f"- {limit}" for limit in card.limits))


_TARGETS = {
    "verdict": "the label alone",
    "forms": "the normal forms of all answers as a closed thought, then the label or the scores",
    "critique": "principles, critique and scores",
    "scores": "the scores alone",
}


def _table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(value: Cell) -> str:
    """Numbers as the card has them; whole ones with separators, nothing for what is not known."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value.replace("|", "\\|").replace("\n", " ")
