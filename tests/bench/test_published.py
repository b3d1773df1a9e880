from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.bench.overall import average_ranks, overall
from assay.bench.published import check_published
from assay.bench.published_file import read_published
from assay.core.errors import InputError

from .shared import DATA, needs_shared

PAPER = DATA / "published" / "deepseek_grm_tables.json"
INCONSISTENT = {
    ("table7_ablation", "RFT w/o Hinted Sampling"),
    ("table8_rewardbench", "DeepSeek-BTRM-27B"),
    ("table8_rewardbench", "DeepSeek-PairRM-27B"),
    ("table8_rewardbench", "CLoud-Gemma-2-27B"),
    ("table15_no_math", "DeepSeek-GRM-27B w/o MATH"),
}


def write(folder: Path, document: Any, name: str = "table.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@needs_shared
def test_the_paper_s_inconsistent_rows_and_no_others_are_flagged() -> None:
    found = check_published(read_published(PAPER))
    assert {(row.table, row.name) for row in found.flagged} == INCONSISTENT
    told = {
        (table, row["name"])
        for table, rows in json.loads(PAPER.read_text())["tables"].items()
        if isinstance(rows, list)
        for row in rows
        if row.get("consistent_within_0.05") is False
    }
    assert told == INCONSISTENT
    assert sum(found.rows.values()) == 94


@needs_shared
def test_the_paper_s_average_ranks_are_reproduced() -> None:
    (ranks,) = check_published(read_published(PAPER)).ranks
    assert ranks.wrong == ()
    assert list(ranks.recomputed.values()) == [4.5, 3.5, 3.5, 2.75, 4.0, 2.75]


@needs_shared
def test_what_may_have_happened_is_hinted() -> None:
    found = check_published(read_published(PAPER))
    hints = {row.name: row.hints for row in found.flagged}
    assert hints["DeepSeek-BTRM-27B"] == ("its mean and that of DeepSeek-PairRM-27B are printed the other way round",)
    assert hints["CLoud-Gemma-2-27B"] == ("its subsets are those of LLM-as-a-Judge",)
    assert ("table10_rmb", "LLM-as-a-Judge@8", "LLM-as-a-Judge w/ TokenProb@8") in found.twins


def row(name: str, mean: float | None, **subsets: float | None) -> dict[str, Any]:
    return {"name": name, "subsets": subsets, "overall": mean}


@pytest.mark.parametrize(("printed", "flagged"), [(70.1, 0), (69.9, 0), (70.2, 1), (69.8, 1)])
def test_the_tolerance_is_that_of_the_printed_digits(tmp_path: Path, printed: float, flagged: int) -> None:
    # Subsets to one digit and a mean to one digit: half a unit each, 0.1 together.
    found = check_published(read_published(write(tmp_path, [row("m", printed, a=69.9, b=70.1)])))
    assert len(found.flagged) == flagged


def test_whole_numbers_have_a_wider_tolerance(tmp_path: Path) -> None:
    path = write(tmp_path, "model,A,B,Avg\nx,60,70,66\ny,60,70,67\n", "t.csv")
    (flagged,) = check_published(read_published(path)).flagged
    assert (flagged.name, flagged.printed, flagged.recomputed, flagged.tolerance) == ("y", 67, 65, 1)


def test_a_row_with_a_hole_is_not_checked_and_told(tmp_path: Path) -> None:
    text = "model,A,B,Avg\nx,60,,66\ny,60,n/a,60\nz,60,70,65\n"
    found = check_published(read_published(write(tmp_path, text, "t.csv")))
    assert (found.flagged, found.unchecked, found.rows) == ((), ("t: x", "t: y"), {"t": 1})


def test_several_tables_and_wrong_ranks(tmp_path: Path) -> None:
    document = {
        "main": [row("m", 2.0, a=1.0, b=3.0), row("n", 3.0, a=2.0, b=4.0)],
        "main_avg_rank": {"m": 1.0, "n": 1.0},
        "notes": "none",
    }
    found = check_published(read_published(write(tmp_path, document)))
    assert found.ranks[0].wrong == ("m",)
    assert found.other == ("notes",)
    document["main_avg_rank"] = {"o": 1.0}
    found = check_published(read_published(write(tmp_path, document)))
    assert found.unchecked == ("main_avg_rank: ranks of rows that main does not have",)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not a whole JSON document"), ("[]", "holds no table"), ('[{"name": "x"}]', "holds no table")],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_published(write(tmp_path, text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_published(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'["\xe9"]')
    with pytest.raises(InputError, match="not UTF-8: byte 0xe9"):
        read_published(tmp_path / "latin.json")


def test_equal_values_share_the_best_rank() -> None:
    table = {"x": {"a": 1.0, "b": 3.0}, "y": {"a": 1.0, "b": 2.0}, "z": {"a": 0.0, "b": 1.0}}
    assert average_ranks(table) == {"x": 1.0, "y": 1.5, "z": 3.0}
    with pytest.raises(ValueError, match="same columns"):
        average_ranks({"x": {"a": 1.0}, "y": {"b": 1.0}})


def test_overall_needs_all_four() -> None:
    scores = {"rewardbench": 86.0, "ppe-preference": 64.7, "ppe-correctness": 59.8, "rmb": 69.0, "realmistake": 72.2}
    assert overall(scores).value == pytest.approx(69.875)
    found = overall({"rewardbench": 86.0, "rmb": None, "rmb-pairs": 69.0})
    assert (found.value, found.missing) == (None, ("PPE Preference", "PPE Correctness"))
    assert found.parts["RMB"] == 69.0
