from __future__ import annotations

from assay.core.types import Candidate, Item, Message
from assay.judges import build_judge
from assay.judges.refusals import counted, refusal, takes


def item(name: str, reference: str | None = None) -> Item:
    return Item(
        id=name,
        messages=(Message(role="user", content="q"),),
        candidates=(Candidate(text="a"),),
        reference=reference,
    )


def test_a_judge_says_why_it_cannot_take_an_item() -> None:
    judge = build_judge("math")
    assert refusal(judge, item("x", "4")) is None
    assert takes(judge, item("x", "4"))
    assert "item 'x' has no reference" in (refusal(judge, item("x")) or "")


def test_reasons_are_counted_without_the_ids() -> None:
    refused = {str(place): f"item '{place}' has no reference" for place in range(7)} | {"x": "item 'x' is empty"}
    assert counted(refused) == "7 because the item has no reference; 1 because the item is empty"
    many = refused | {name: f"reason {name}" for name in "abc"}
    assert counted(many).endswith("; 1 because reason a; 2 for other reasons")
    assert counted({}) == ""
