from __future__ import annotations

import asyncio
from dataclasses import asdict

from assay.core.codec import completions_from_json
from assay.core.deadline import Deadline
from assay.core.types import Draw
from assay.data import COLUMNS, item_from_row, result_row, row_to_json
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.judges.base import Judge
from assay.scoring.records import vote_rows
from assay.scoring.scorer import Scorer

from .doubles import item


def judged(judge: Judge, config: FakeConfig) -> None:
    """Judge once, write the row, and read the verdict again out of the row alone."""
    one = item("Answer: 4", "Answer: 5", id="q", gold=(1.0, 0.0), reference="4")
    judgment = asyncio.run(Scorer(FakeEngine(config)).judge(judge, one, Deadline.never()))
    for vote, row in zip(judgment.votes, vote_rows(judgment, base_seed=3), strict=True):
        stored = row_to_json(row)
        assert list(stored) == COLUMNS.names
        again = result_row(stored)
        assert asdict(again) == asdict(row)
        whole = item_from_row(again.item)
        assert whole == one
        judged_item = whole if again.candidate is None else whole.only(again.candidate)
        draw = Draw(vote=again.vote, seed=again.seed or 0, order=again.order)
        assert judge.read(judged_item, draw, completions_from_json(again.completions)) == vote.outcome
        assert judge.plan(judged_item, draw)


def test_a_row_can_be_read_again_without_engine_or_source() -> None:
    boxed = "Scores: \\\\boxed{7, 5}".replace("\\\\", "\\")
    judged(build_judge("pointwise"), FakeConfig(default=boxed))
    judged(build_judge("pointwise"), FakeConfig(default="no box"))
    judged(build_judge("verifier"), FakeConfig(default="1"))
    judged(build_judge("verifier", choices=True), FakeConfig(choices={"1": 0.7, "0": 0.2}))
    judged(build_judge("verifier"), FakeConfig(default="1", faults={"truncated": 1.0}))
