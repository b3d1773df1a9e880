"""The same sets by ``assay judge``: the engine, the prompts and the parsers that users run. Goes on where it stopped.

Each set is judged by the model with its adapter, by the rule of ``math`` and by both as the verifier's ``first: math``
joins them; the base model, which cannot judge, is asked about the first ``BASE`` items. Pairs: greedy in both orders.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core.types import Item
from assay.data import item_to_row, write_jsonl
from assay.data.results import read_results
from assay.judges.extract import final_answer
from assay.judges.probes import swapped

from . import sets
from .figures import answered, either, summary
from .pairs import rates
from .sets import Measured

BASE = 400
GREEDY = '{"temperature": 0}'


def engine(options: argparse.Namespace, verified: Mapping[str, Sequence[Measured]]) -> None:
    """Judge what is not judged yet, and write ``engine.json``."""
    options.out.mkdir(parents=True, exist_ok=True)
    model = ["--judge", "verifier", "--model", options.model, "--sampling", GREEDY]
    adapter = [] if options.adapter is None else ["--adapter", str(options.adapter)]
    results: dict[str, Any] = {}
    for name, measured in verified.items():
        items = _numbered([one.item for one in measured])
        judge = _scores(options.out, f"{name} judge", items, [*model, *adapter])
        rule = _scores(options.out, f"{name} rule", items, ["--judge", "math"])
        base = _scores(options.out, f"{name} base", items[:BASE], [*model, "--adapter", "none"])
        results[name] = summary(answered(measured, judge))
        results[f"{name}: math-verify"] = summary(answered(measured, rule))
        results[f"{name}: rule, then judge"] = summary(answered(measured, either(rule, judge)))
        results[f"{name}: exact match"] = summary(answered(measured, [_exact(item) for item in items]))
        results[f"{name}: base model"] = summary(answered(measured[:BASE], base))
    results["pairs"] = _pairs(options, [*adapter, "--model", options.model, "--sampling", GREEDY])
    told = {"model": options.model, "adapter": str(options.adapter or ""), "results": results}
    (options.out / "engine.json").write_text(json.dumps(told, indent=1))


def _pairs(options: argparse.Namespace, model: list[str]) -> dict[str, Any]:
    items = _numbered([one.item for one in sets.pairs(options.pairs)])
    found: dict[str, Any] = {}
    for name, shown in (("greedy", items), ("swapped", [swapped(item) for item in items])):
        fixed = ["--judge", "pointwise", "--k", "1", "--orders", "fixed", *model]
        found[name] = rates(shown, _judged(options.out, f"pairs {name}", shown, fixed))
    votes = ["--judge", "pointwise", "--k", "8", *model[:-2], "--sampling", '{"temperature": 0.5}']
    found["vote 8"] = rates(items, _judged(options.out, "pairs vote 8", items, votes))
    return found


def _scores(folder: Path, name: str, items: Sequence[Item], how: Sequence[str]) -> list[float | None]:
    return [None if found is None else found[0] for found in _judged(folder, name, items, how)]


def _judged(folder: Path, name: str, items: Sequence[Item], how: Sequence[str]) -> list[tuple[float, ...] | None]:
    """The scores of each item, votes added up; None where no vote holds."""
    stem = folder / name.replace(" ", "-").replace(",", "")
    file, out = stem.with_suffix(".jsonl"), stem.with_suffix(".parquet")
    write_jsonl(file, map(item_to_row, items))
    command = [sys.executable, "-m", "assay", "judge", str(file), "--out", str(out), *how]
    # 1: some judgments failed; they count as no verdict.
    code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    if code not in (0, 1):
        sys.exit(f"{name}: assay judge ended with {code}: {' '.join(command)}")
    votes: dict[str, list[tuple[float, ...]]] = {}
    for row in read_results(out):
        if row.scores is not None:
            votes.setdefault(row.item_id, []).append(row.scores)
    return [tuple(map(sum, zip(*votes[item.id], strict=True))) if item.id in votes else None for item in items]


def _numbered(items: Sequence[Item]) -> list[Item]:
    """Ids that are no two the same, and no part of what is asked."""
    return [replace(item, id=f"{place:05d}") for place, item in enumerate(items)]


def _exact(item: Item) -> float:
    return float(final_answer(item.candidates[0].text) == (item.reference or "").strip())
