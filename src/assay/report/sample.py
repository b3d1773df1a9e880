"""Which judgments a page shows, and how each is written down for it.

A page of every judgment of a large run could not be opened, so a sample is kept: failures first, then disagreements
with gold, then the rest, each evenly spread over the run. Long texts are cut in the middle. Both are said on the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.types import Item
from assay.data import ResultRow
from assay.data.results import VERDICT

from .agreement import agreement, unit_scale
from .words import duration

SIZES = ((1500, 4000), (1500, 1500), (1500, 600), (500, 600), (150, 600))
"""Most rows on a page, and most characters of one text, from generous to tight: the first that fits is taken."""
MOST_CHARACTERS = 6_000_000
"""Of all texts on one page together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The rows to show, failures first, then disagreements, and the questions and answers that they are about."""

    rows: tuple[dict[str, Any], ...]
    items: Mapping[str, dict[str, Any]]
    total: int


def sample(groups: Sequence[Sequence[ResultRow]], items: Iterable[Item], keys: Sequence[str]) -> Sample:
    """The rows that a page shows.

    Args:
        groups: the rows of each judge, in the order in which the page names the judges.
        items: what was judged, where it is at hand; a row may be about an item that is not there.
        keys: the metadata keys that the page can filter by.
    """
    known = {item.id: item for item in items}
    every = [(judge, row) for judge, rows in enumerate(groups) for row in rows]
    units = [unit_scale(score for row in rows for score in row.scores or ()) for rows in groups]
    agrees = [agreement(row, unit=units[judge]) for judge, row in every]
    shown = Sample(rows=(), items={}, total=len(every))
    for most, longest in SIZES:
        places = pick([row for _, row in every], agrees, most)
        entries = [_entry(*every[place], agrees[place], keys, longest) for place in places]
        about = {entry["item"]: _about(known[entry["item"]], longest) for entry in entries if entry["item"] in known}
        shown = Sample(rows=tuple(sorted(entries, key=_interest)), items=about, total=len(every))
        if _characters(shown) <= MOST_CHARACTERS:
            break
    return shown


def pick(rows: Sequence[ResultRow], agrees: Sequence[bool | None], most: int) -> list[int]:
    """At most ``most`` places: failures first (up to half), then disagreements (up to a quarter), then the rest."""
    failed = [place for place, row in enumerate(rows) if not row.ok]
    wrong = [place for place, row in enumerate(rows) if row.ok and agrees[place] is False]
    rest = [place for place, row in enumerate(rows) if row.ok and agrees[place] is not False]
    found = _spread(failed, most // 2) + _spread(wrong, most // 4)
    found += _spread(rest, most - len(found))
    taken = set(found)
    left = [place for place in failed + wrong if place not in taken]
    return sorted(found + _spread(left, most - len(found)))


def readable(text: str, longest: int) -> str:
    """``text`` as a page can show it: the middle of a long one cut out, hidden and unwritable characters named.

    A text may hold characters that turn the reading direction or cannot be seen, to look like something that it is not.
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def _interest(entry: Mapping[str, Any]) -> int:
    if entry["outcome"] != VERDICT:
        return 0
    return 1 if entry["agrees"] is False else 2


def _spread(places: Sequence[int], most: int) -> list[int]:
    if len(places) <= most:
        return list(places)
    return [places[i * len(places) // most] for i in range(most)]


def _entry(judge: int, row: ResultRow, agrees: bool | None, keys: Sequence[str], longest: int) -> dict[str, Any]:
    return {
        "item": row.item_id,
        "candidate": row.candidate,
        "judge": judge,
        "outcome": row.outcome,
        "scores": None if row.scores is None else list(row.scores),
        "choice": row.choice if row.ok else None,
        "gold": None if row.own_gold is None else list(row.own_gold),
        "agrees": agrees,
        "groups": [str(row.metadata[key]) if key in row.metadata else None for key in keys],
        "prompt": readable(row.prompt, longest),
        "text": readable(row.text, longest),
        "detail": readable(row.detail, longest),
        "flags": list(row.flags),
        "mass": row.mass,
        "tokens": [row.prompt_tokens, row.completion_tokens],
        "latency": "from the cache" if row.cached else duration(row.latency_s),
        "reasks": row.reasks,
        "seed": row.seed,
    }


def _about(item: Item, longest: int) -> dict[str, Any]:
    return {
        "question": readable(item.question, longest),
        "candidates": [readable(candidate.text, longest) for candidate in item.candidates],
        "reference": None if item.reference is None else readable(item.reference, longest),
    }


def _characters(shown: Sample) -> int:
    texts = sum(len(row["prompt"]) + len(row["text"]) + len(row["detail"]) for row in shown.rows)
    answers = sum(len(about["question"]) + sum(map(len, about["candidates"])) for about in shown.items.values())
    return texts + answers
