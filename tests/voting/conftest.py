"""Builders that the tests of voting share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Draw, Failure, FailureKind, Verdict, Vote

GOLDEN = Path(__file__).parents[2] / "../shared/data/golden/grm_core.json"


@pytest.fixture
def golden() -> dict[str, Any]:
    if not GOLDEN.exists():
        pytest.skip("needs golden/grm_core.json of the shared data")
    return json.loads(GOLDEN.read_text())


@pytest.fixture
def make_vote() -> Callable[..., Vote]:
    """A vote of its scores (in the item's own order), of the index it names, or (None) one that failed."""

    def make(vote: int, said: tuple[float, ...] | int | None, **more: Any) -> Vote:
        if said is None:
            outcome: Any = Failure(kind=FailureKind.PARSE_ERROR, detail="no scores")
        else:
            outcome = Verdict(choice=said) if isinstance(said, int) else Verdict(scores=said)
        return Vote(draw=Draw(vote=vote, seed=vote, order=(0,)), outcome=outcome, **more)

    return make


@pytest.fixture
def make_votes(make_vote: Callable[..., Vote]) -> Callable[..., list[Vote]]:
    def make(*said: tuple[float, ...] | int | None, metas: tuple[float | None, ...] = ()) -> list[Vote]:
        padded = metas + (None,) * (len(said) - len(metas))
        return [make_vote(index, one, meta=meta) for index, (one, meta) in enumerate(zip(said, padded, strict=True))]

    return make
