"""Replays: the recorded plan gives the record, another plan what it would have given; what cannot be is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Failure, Item, Verdict
from assay.data import ResultRow, read_results
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine
from assay.judges import Judge, build_judge
from assay.scoring.judgment import Judgment
from assay.scoring.meta import MetaScorer
from assay.scoring.records import vote_rows
from assay.scoring.replay import (
    Recording,
    read_again,
    recorded_plan,
    recordings,
    replay,
    replayed_rows,
    resampled,
)
from assay.scoring.reweighing import weigh_again
from assay.scoring.runfile import RunHeader, write_run
from assay.scoring.scorer import Scorer
from assay.voting.plan import Budget, Certain, VotePlan

from .doubles import item

REPLIES = (r"\boxed{8, 3}", r"\boxed{2, 9}", r"\boxed{5, 5}", r"**\boxed{7, 6**", "no verdict", r"\boxed{９，4}")
N = 40
JUDGE = build_judge("pointwise")


def items() -> list[Item]:
    return [item(f"answer {i}", f"other {i}", id=f"q{i}", gold=(1.0, 0.0)) for i in range(N)]


def record(
    plan: VotePlan | None, judge: Judge = JUDGE, things: list[Item] | None = None, **engine: Any
) -> list[ResultRow]:
    """A recording of the fake engine, whose texts are of every kind."""

    async def run() -> list[Judgment]:
        scorer = Scorer(
            FakeEngine(FakeConfig(replies=REPLIES, **engine)),
            reask=0,
            metas={"m": MetaScorer(FakeRewardEngine(FakeRewardConfig()))},
        )
        await scorer.start()
        return [await scorer.judge(judge, thing, Deadline.never(), plan=plan) for thing in things or items()]

    return [row for judgment in asyncio.run(run()) for row in vote_rows(judgment)]


def again(rows: list[ResultRow], plan: VotePlan | None, judge: Judge = JUDGE) -> list[ResultRow]:
    found = read_again(recordings(rows), judge)
    return replayed_rows(found, replay(found, judge, plan))


PLANS = [
    VotePlan(k=8),
    VotePlan(k=8, orders="balanced", ties="first", min_valid=5),
    VotePlan(k=5, reduce="median", ties="half"),
    VotePlan(k=7, reduce="majority", ties="wrong", orders="fixed"),
    VotePlan(k=8, meta="m", k_meta=3),
    VotePlan(k=16, stop=Certain(), wave=3),
    VotePlan(k=8, stop=Budget(tokens=700), wave=2),
    None,
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_under_the_recorded_plan_a_replay_is_the_record(plan: VotePlan | None, tmp_path: Path) -> None:
    rows = record(plan)
    write_run(tmp_path / "run.parquet", HEADER, rows)
    read = read_results(tmp_path / "run.parquet")
    assert recorded_plan(recordings(read)) == (None if plan is None else replace(plan, reduce=plan.reduce or "sum"))
    assert again(read, recorded_plan(recordings(read))) == read
    assert len({row.outcome for row in read}) > 1, "failures are among them"


HEADER = RunHeader(judge="j", model="m", weight_version="", sampling={}, reask=0, seed=0)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("more", [{}, {"stop": Certain()}, {"meta": "m"}, {"ties": "half", "reduce": "mean"}], ids=str)
def test_a_prefix_is_what_fewer_votes_would_have_been(k: int, more: dict[str, Any]) -> None:
    plan = VotePlan(k=8, meta=more.get("meta"))
    fewer = replace(plan, k=k, **more)
    live = record(fewer)
    found = again(record(plan), fewer)
    assert [(r.item_id, r.vote, r.kept, r.decision) for r in found] == [
        (r.item_id, r.vote, r.kept, r.decision) for r in live
    ]


def test_another_parser_reads_the_same_texts_as_if_it_had_judged() -> None:
    lenient = build_judge("pointwise", lenient=True)
    plan = VotePlan(k=8)
    strict, live = record(plan), record(plan, lenient)
    found = again(strict, plan, lenient)
    assert [(r.scores, r.flags, r.outcome, r.decision) for r in found] == [
        (r.scores, r.flags, r.outcome, r.decision) for r in live
    ]
    assert sum(row.ok for row in found) > sum(row.ok for row in strict)
    assert {row.judge_identity for row in found} == {lenient.identity}


def test_a_plain_recording_can_be_read_again_but_not_voted_on() -> None:
    lenient = build_judge("pointwise", lenient=True)
    rows = record(None)
    assert sum(row.ok for row in again(rows, None, lenient)) > sum(row.ok for row in rows)
    with pytest.raises(InputError, match="is one plain judgment and no vote"):
        again(rows, VotePlan(k=1))
    with pytest.raises(InputError, match="was voted on"):
        again(record(VotePlan(k=2)), None)


def test_what_was_not_recorded_is_refused_with_both_numbers() -> None:
    with pytest.raises(InputError, match="item 'q0': the plan needs up to 9 votes, 8 are recorded"):
        again(record(VotePlan(k=8)), VotePlan(k=9))
    stopped = record(VotePlan(k=16, stop=Certain()))
    with pytest.raises(InputError, match=r"needs up to 16 votes, \d+ are recorded, as drawing stopped early"):
        again(stopped, VotePlan(k=16))
    with pytest.raises(InputError, match="were drawn with orders 'shuffle'"):
        again(record(VotePlan(k=2)), VotePlan(k=2, orders="balanced"))
    with pytest.raises(InputError, match="a budget of seconds cannot be replayed"):
        again(record(VotePlan(k=4)), VotePlan(k=4, stop=Budget(seconds=1)))


def test_a_judge_that_asks_something_else_is_refused() -> None:
    rows = record(VotePlan(k=2))
    with pytest.raises(InputError, match="asks something else than 'pointwise-"):
        again(rows, VotePlan(k=2), build_judge("pointwise", language="zh"))
    with pytest.raises(InputError, match="several judges"):
        recordings([*rows, replace(rows[0], judge_identity="other")])
    with pytest.raises(InputError, match="under 2 plans"):
        recorded_plan(recordings(rows + record(VotePlan(k=3))))
    with pytest.raises(InputError, match="1 of its 2 votes are there"):
        recordings(rows[:1])
    with pytest.raises(InputError, match="does not hold item 'q0' itself"):
        recordings([replace(rows[0], item={}), rows[1]])
    with pytest.raises(InputError, match="no judgment"):
        recordings([])


def test_judgments_of_single_candidates_are_replayed_one_by_one() -> None:
    judge = build_judge("verifier")
    things = [item("Answer: 1", "Answer: 2", id=f"q{i}", reference="1", gold=(1.0, 0.0)) for i in range(5)]
    rows = record(VotePlan(k=4), judge, things, seed=3)
    assert {row.candidate for row in rows} == {0, 1}
    assert again(rows, recorded_plan(recordings(rows)), judge) == rows
    assert [row.vote for row in again(rows, VotePlan(k=2), judge)] == [0, 1] * 10


def test_a_call_that_failed_as_a_whole_stays_failed_under_any_k() -> None:
    rows = record(VotePlan(k=4), faults={"error_502": 1.0})
    one = [replace(row, drawn=1) for row in rows if row.vote == 0]
    found = again(one, VotePlan(k=2))
    assert [row.decision["failure"] for row in found] == ["engine_error"] * N


def test_another_meta_rm_weighs_the_recorded_texts() -> None:
    rows = record(VotePlan(k=8, meta="m"))
    recorded = recordings(rows)
    # Texts with a 9 in them are good, says this one.
    other = MetaScorer(FakeRewardEngine(FakeRewardConfig(logits={"9": 5.0}, default=-5.0)))
    weighed = asyncio.run(weigh_again(recorded, other, concurrency=8, deadline_s=5))
    found = replayed_rows(weighed, replay(weighed, JUDGE, VotePlan(k=8, meta="other", k_meta=1, min_valid=1)))
    kept = [row for row in found if row.kept]
    assert len(kept) == N
    assert {row.meta for row in kept} == {5.0, -5.0} or {row.meta for row in kept} == {5.0}
    for row in kept:
        if row.meta == -5.0:
            assert not any("9" in r.text for r in found if r.item_id == row.item_id and r.ok)
    assert {row.meta for row in found if not row.ok} == {None}


def test_the_recorded_logits_serve_another_k_meta() -> None:
    rows = record(VotePlan(k=8, meta="m"))
    for k_meta in (1, 8):
        found = again(rows, VotePlan(k=8, meta="m", k_meta=k_meta, min_valid=1))
        per_item = [[r for r in found if r.item_id == f"q{i}"] for i in range(N)]
        assert all(sum(r.kept for r in group) == min(k_meta, sum(r.ok for r in group)) for group in per_item)


def scores_of(outcome: object) -> tuple[float, ...] | None:
    return outcome.scores if isinstance(outcome, Verdict) else None


def test_the_bootstrap_is_seeded_and_centres_on_the_record() -> None:
    recorded: list[Recording] = recordings(record(VotePlan(k=8)))
    plan = VotePlan(k=8, reduce="mean")
    first = [list(map(scores_of, each)) for each in resampled(recorded, JUDGE, plan, times=40)]
    assert first == [list(map(scores_of, each)) for each in resampled(recorded, JUDGE, plan, times=40)]
    assert first != [list(map(scores_of, each)) for each in resampled(recorded, JUDGE, plan, times=40, base=1)]
    assert len(set(map(str, first))) == 40
    whole = [judgment.outcome for judgment in replay(recorded, JUDGE, plan)]
    for place, outcome in enumerate(whole):
        if isinstance(outcome, Failure):
            continue
        found = [each[place][0] for each in first if each[place] is not None]
        spread = max(found) - min(found)
        assert outcome.scores is not None
        assert min(found) - 0.5 * spread <= outcome.scores[0] <= max(found) + 0.5 * spread
    with pytest.raises(InputError, match="leave the stopping rule out"):
        next(resampled(recorded, JUDGE, VotePlan(k=8, stop=Certain()), times=1))


def test_a_replay_is_written_as_a_run_and_over_the_same_run_only(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    rows = record(VotePlan(k=2))
    write_run(out, HEADER, rows)
    write_run(out, HEADER, rows[:2])
    assert read_results(out) == read_results(out)
    assert len(read_results(out)) == 2
    with pytest.raises(InputError, match="a different run: seed 0 instead of 1"):
        write_run(out, replace(HEADER, seed=1), rows)
    write_run(out, replace(HEADER, seed=1), rows, fresh=True)
    assert len(read_results(out)) == 2 * N
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]
