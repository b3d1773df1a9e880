"""Whatever scores candidates: heads that look at one candidate, or at a pair in the order in which it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.bench.running.candidates import Scored, ScoresCandidates, Varies
from assay.bench.running.passes import RunPlan
from assay.bench.running.scalar import RewardScorer
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Draw, Failure, FailureKind, Item, Reduce
from assay.data import read_results
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine
from assay.scoring.batch import RunFacts

from .doubles import document, of_scorer, pairs, run, units_of, value


@dataclass(slots=True)
class Head:
    """A head by rule. A pairwise one knows nothing but which answer is longer, and that it likes the first."""

    pointwise: bool
    varies: Varies
    scores: tuple[float, ...] | None = None
    reduce: Reduce = "mean"
    name: str = "head"
    identity: str = "head-1"
    scalar: bool = True
    looks_at_gold: bool = False
    seen: list[str] = field(default_factory=list[str])

    async def start(self) -> RunFacts:
        return RunFacts(model="m", weight_version="3")

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:
        self.seen += [candidate.text for candidate in item.candidates]
        if self.scores is not None:
            return Scored(scores=self.scores)
        if self.pointwise:
            return Scored(scores=(float(len(item.candidates[0].text)) + draw.vote,))
        longer = [float(len(candidate.text)) for candidate in item.candidates]
        longer[draw.order[0]] += 1.5
        return Scored(scores=tuple(longer))

    async def close(self) -> None: ...


def protocol(head: Head) -> ScoresCandidates:
    return head


def test_a_head_that_looks_at_a_pair_is_asked_in_both_orders(tmp_path: Path) -> None:
    """The right answer is one character longer: it wins when shown first, and loses to 1.5 otherwise."""
    benchmark, units = units_of("judgebench", [
        {"pair_id": str(i), "question": f"q{i}", "response_A": "long", "response_B": "sho", "source": "livebench-math",
         "label": "A>B"} for i in range(3)
    ])  # fmt: skip
    made = run(benchmark, units, of_scorer(protocol(Head(pointwise=False, varies="orders"))), tmp_path)
    assert made.result.orders is not None
    assert (made.result.orders.first, made.result.orders.second) == (100, 0)
    assert value(made) == 0  # a win and a loss
    # All votes together (4 + 1.5 + 4 against 3 + 3 + 1.5) prefer it: what is told beside is not the official rule.
    assert made.result.tied == 0


def test_a_shared_candidate_is_scored_once(tmp_path: Path) -> None:
    """RM-Bench: six answers in nine pairs."""
    row = {"id": 1, "prompt": "q", "chosen": ["aaaa", "bbbbb", "cccccc"], "rejected": ["d", "ee", "fff"],
           "domain": "math"}  # fmt: skip
    benchmark, units = units_of("rmbench", [row])
    head = Head(pointwise=True, varies="nothing")
    assert value(run(benchmark, units, of_scorer(protocol(head)), tmp_path)) == 100
    assert sorted(head.seen) == ["aaaa", "bbbbb", "cccccc", "d", "ee", "fff"]
    assert len(read_results(tmp_path / "votes.parquet")) == 6


def test_votes_of_a_head_that_samples_are_averaged(tmp_path: Path) -> None:
    """CLoud: each vote is a critique of its own; here vote v adds v to the score."""
    benchmark, units = units_of("single", [{"id": "x", "prompt": "q", "candidates": ["ab"], "gold": [1]},
                                           {"id": "y", "prompt": "q", "candidates": ["a"], "gold": [0]}])  # fmt: skip
    plan = RunPlan(k=3, bootstrap=0)
    made = run(benchmark, units, of_scorer(protocol(Head(pointwise=True, varies="samples"))), tmp_path, plan)
    assert value(made) == 100
    assert {row.decision["scores"][0] for row in read_results(tmp_path / "votes.parquet")} == {3.0, 2.0}
    assert [one.name for one in made.result.series] == ["voting@1", "voting@2", "voting@3"]
    assert document(tmp_path)["asked"]["models"] == [{"model": "m", "weight_version": "3"}]


def test_a_wrong_number_of_scores_is_a_failure(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(2))
    head = Head(pointwise=False, varies="nothing", scores=(1.0,))
    made = run(benchmark, units, of_scorer(protocol(head)), tmp_path)
    assert made.result.failures == {"parse_error": 2}
    with pytest.raises(InputError, match="nothing to vote on"):
        run(benchmark, units, of_scorer(protocol(head)), tmp_path / "k", RunPlan(k=2))


def test_a_reward_model_that_fails_is_no_score(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(30))
    engine = FakeRewardEngine(FakeRewardConfig(logits={"good": 1, "bad": 0}, faults={"error_502": 0.2}))
    made = run(benchmark, units, of_scorer(RewardScorer(engine=engine, model="rm")), tmp_path)
    rows = read_results(tmp_path / "votes.parquet")
    failed = {row.item_id.partition("#")[0] for row in rows if not row.ok}
    assert 0 < len(failed) < 30
    assert made.result.failures == {str(FailureKind.ENGINE_ERROR): len(failed)}
    assert made.result.by_failures["excluded"] == 100
    assert {row.prompt for row in rows if row.ok} >= {"[user]\n0?\n\n[assistant]\ngood 0"}


def test_a_tie_of_a_scalar_reward_model_is_wrong_on_rewardbench(tmp_path: Path) -> None:
    row = {"id": 1, "prompt": "q", "chosen": "abc", "rejected": "xyz", "subset": "alpacaeval-easy"}
    benchmark, units = units_of("rewardbench", [row])
    made = run(benchmark, units, of_scorer(protocol(Head(pointwise=True, varies="nothing"))), tmp_path)
    assert (made.result.tied, value(made), made.result.by_ties["share"]) == (1, 0, 12.5)
