"""Labels of several people; PandaLM's own ones where the data is there."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from assay.bench.audit.agreement import agreement_section, label
from assay.bench.audit.build import build
from assay.bench.audit.humans import majority, pandalm_items
from assay.bench.audit.kappa import alpha, kappa
from assay.bench.audit.looks import Look
from assay.bench.audit.plan import AuditPlan
from assay.bench.audit.sources import audit_items
from assay.bench.audit.tag import Tag, read_tag
from assay.core.errors import InputError
from assay.data import FieldMap, Record
from assay.data.records import BadRecord

PANDALM = Path(__file__).parents[4] / "shared" / "data" / "pandalm" / "testset-v1.json"
ROW = {
    "idx": 7,
    "cmp_key": "bloom-7b_llama-7b",
    "instruction": "Shorten this.",
    "input": "A long text.",
    "response1": "Long.",
    "response2": "Short.",
    "annotator1": 2,
    "annotator2": 0,
    "annotator3": 2,
}


def test_a_row_of_pandalm() -> None:
    items, bad = pandalm_items([Record(line=1, row=ROW), Record(line=2, row={**ROW, "annotator1": 5})])
    (item,) = items
    assert (item.id, item.question, item.gold) == ("pandalm-7", "Shorten this.\n\nA long text.", (0.0, 1.0))
    assert [(one.text, one.author) for one in item.candidates] == [("Long.", "bloom-7b"), ("Short.", "llama-7b")]
    assert bad == (BadRecord(line=2, reason="no row of the PandaLM test set: KeyError(5)"),)


def test_the_label_of_most_people() -> None:
    first, second, tie = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
    assert majority([first, tie, first, None]) == first
    assert majority([first, second, tie]) is None
    assert majority([None]) is None


def test_the_file_is_known_by_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    path.write_text(json.dumps([ROW]))
    found = audit_items(str(path), FieldMap())
    assert found.told == "PandaLM: three human labels a pair"
    assert [item.id for item in found.items] == ["pandalm-7"]
    path.write_text(json.dumps([{**ROW, "annotator1": "?"}]))
    with pytest.raises(InputError, match="becomes an item: line 1"):
        audit_items(str(path), FieldMap())
    assert len(audit_items(None, FieldMap()).items) == 107


def test_what_scores_say() -> None:
    assert label((0.2, 0.9)) == "2"
    assert label((0.5, 0.5)) == "tie"
    assert label((7.0,), (1.0, 10.0)) == "right"
    assert label((0.5,), (0.0, 1.0)) == "wrong"
    assert label((7.0,)) is None
    assert label((0.2, 0.9), order=(3, 0)) == "1"


@pytest.mark.skipif(not PANDALM.exists(), reason="the PandaLM test set is not here")
def test_the_people_of_pandalm() -> None:
    rows = json.loads(PANDALM.read_text())
    codes = [tuple(row[f"annotator{one}"] for one in (1, 2, 3)) for row in rows]
    # By hand, from the counts of the file. Three labels a unit: a unit that is unanimous adds 3 coincidences of its
    # label with itself; one with two alike adds 1 of these and 1 each way with the other label; one with three labels
    # adds 1/2 for each ordered pair. Disagreement is then 2 of 3 for two alike, 3 of 3 for none.
    alike = sum(len(set(unit)) == 1 for unit in codes)
    apart = sum(len(set(unit)) == 3 for unit in codes)
    n = 3 * len(codes)
    observed = (2 * (len(codes) - alike - apart) + 3 * apart) / n
    margins = [sum(unit.count(one) for unit in codes) for one in (0, 1, 2)]
    expected = 1 - sum(m * (m - 1) for m in margins) / (n * (n - 1))
    assert alpha(codes) == pytest.approx(1 - observed / expected, abs=1e-12)

    items = audit_items(str(PANDALM), FieldMap()).items
    built = build(items, AuditPlan(items=2000, parts=()), lambda item: None)
    base = [_look(item) for item in built.probes]
    section = agreement_section(base, None, alone=False)
    figures = {one.name: one for one in section.figures}
    among = figures["alpha among 3 people"]
    assert among.n == len(items) == len(codes) == 999
    assert among.value == pytest.approx(1 - observed / expected, abs=1e-12), "no label is lost or turned on the way"
    two = [kappa([(unit[a], unit[b]) for unit in codes]) for a, b in combinations(range(3), 2)]
    assert figures["kappa of two people, mean"].value == pytest.approx(sum(one or 0 for one in two) / 3, abs=1e-12)
    # This judge says what the first person says.
    same = [kappa([(unit[0], unit[b]) for unit in codes]) for b in (1, 2)]
    expected_kappa = (1 + sum(one or 0 for one in same)) / 3
    assert figures["kappa of judge and person, mean"].value == pytest.approx(expected_kappa, abs=1e-12)


def _look(item: object) -> Look:
    from assay.core.types import Item

    assert isinstance(item, Item)
    tag = read_tag(item.metadata)
    assert isinstance(tag, Tag)
    return Look(item=item, tag=tag, scores=tag.humans[0], failure=None)
