"""``assay bench triage`` as a person uses it: draw out of a run, label, count."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_judge import assay, write


def test_draw_label_and_count(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": f"q{i}", "prompt": f"{i}?", "candidates": ["yes", "no"], "gold": [1, 0], "subset": "ab"[i % 2]}
        for i in range(40)
    ]
    write(tmp_path / "pairs.jsonl", rows)
    engine = ["--engine", "fake", "--engine-options", json.dumps({"default": "\\boxed{1}"})]
    assay("judge", "pairs.jsonl", "--judge", "pairwise", *engine, "-o", "run.parquet", cwd=tmp_path)
    done = assay("bench", "triage", "run.parquet", "--each", "4", "-o", "t.jsonl", cwd=tmp_path)
    assert "8 of " in done.stdout
    assert "critique: the principles fit" in done.stdout
    refused = assay("bench", "triage", "run.parquet", "-o", "t.jsonl", cwd=tmp_path, expect=2)
    assert "may hold labels" in refused.stderr
    sheet = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert {row["stratum"] for row in sheet} == {"a", "b"}
    write(tmp_path / "t.jsonl", [{**row, "class": "critique" if place else ""} for place, row in enumerate(sheet)])
    counted = assay("bench", "triage", "t.jsonl", cwd=tmp_path)
    assert "7 of 7" in counted.stdout
    assert "1 cases have no class yet" in counted.stdout
    told = json.loads(assay("bench", "triage", "t.jsonl", "--json", cwd=tmp_path).stdout)
    assert (told["labelled"], told["unlabelled"]) == (7, 1)
    wrong = assay("bench", "triage", "t.jsonl", "--each", "3", cwd=tmp_path, expect=2)
    assert "is a labelled file" in wrong.stderr
