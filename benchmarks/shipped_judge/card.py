"""The figures of an adapter's card, out of result files of ``engine``. Pure but for ``write``.

A later file wins where two have the same set. Who is said: the judge with its adapter, what ``first: math`` and the
judge say together, exact match, math-verify, and the model without its adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.files import write_whole
from assay.engines.embedded.adapter_card import CARD, AdapterCard

SETS = {
    "iid": "templates of the training side, values of another seed",
    "held": "held-out templates, phrasings, names, things and numbers",
    "attacks": "answers that are none",
    "gsm8k final": "GSM8K solutions, what stands behind the last A: alone",
    "gsm8k whole": "GSM8K solutions, whole",
}
WHO = {
    "{set}, written": "this judge",
    "{set}, written: rule, then judge": "rule first, then this judge",
    "{set}: exact match": "exact match",
    "{set}: math-verify": "math-verify",
    "{set}: base model": "the model without its adapter",
}
COLUMNS = ("n", "balanced, %", "95 %, of all", "right answers, %", "wrong answers, %", "no verdict")


def write(folder: Path, files: Sequence[Path]) -> None:
    """Put the figures into the card of the adapter in ``folder``."""
    file = folder / CARD
    results: dict[str, Any] = {}
    for each in files:
        results |= json.loads(each.read_text())["results"]
    card = json.loads(file.read_text()) | {"figures": list(tables(results))}
    AdapterCard.model_validate(card)
    write_whole(file, json.dumps(card, ensure_ascii=False, indent=1) + "\n")


def tables(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables, as the card holds them."""
    rows = [
        [name, who, *_cells(results[key]["all"])]
        for name in SETS
        for pattern, who in WHO.items()
        if (key := pattern.format(set=name)) in results
    ]
    notes = "; ".join(f"{name}: {SETS[name]}" for name in dict.fromkeys(str(row[0]) for row in rows))
    yield _table("Verifier", ("set", "who", *COLUMNS), rows, notes)
    for part, title in (("kind", "Verifier, by kind"), ("language", "Verifier, by language of the item")):
        found = [(name, results[f"{name}, written"][part]) for name in ("iid", "held") if f"{name}, written" in results]
        rows = [[name, group, *_cells(rates)] for name, groups in found for group, rates in groups.items()]
        yield _table(title, ("set", part, *COLUMNS), rows)
    if "held, written" in results:
        forms = results["held, written"]["form"].items()
        weak = sorted(forms, key=lambda one: (one[1]["balanced"], -one[1]["n"]))[:12]
        rows = [[form, rates["n"], _percent(rates["balanced"])] for form, rates in weak]
        note = "+ stands for a right answer in that form, - for that error."
        yield _table("Verifier, held: the weakest forms", ("form", "n", "%"), rows, note)
    if "pairs" in results:
        rows = [
            [name, each["n"], *(_percent(each[key]) for key in ("accuracy", "ties", "no_verdict"))]
            for name, each in results["pairs"].items()
        ]
        note = "Held-out pairs with a reference. A tie and a text without a verdict count as wrong."
        yield _table("Pointwise", ("how", "n", "accuracy, %", "ties, %", "no verdict, %"), rows, note)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "note": note}


def _cells(rates: Mapping[str, Any]) -> list[Any]:
    low, high = (100 * rates[key] for key in ("low", "high"))
    shares = [_percent(rates[key]) for key in ("balanced", "tpr", "tnr")]
    return [rates["n"], shares[0], f"{low:.1f} to {high:.1f}", *shares[1:], rates["no_verdict"]]


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)
