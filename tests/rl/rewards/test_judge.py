"""Judges as rewards: where question and gold stand, what a verdict is worth, what is asked once and what again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError, StartError
from assay.core.types import Failure, FailureKind, Message
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.rl.rewards.base import ChecksPrompts
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig, RewardVoting
from assay.rl.rewards.items import gold, question, to_item
from assay.rl.rewards.judge import JudgeReward
from assay.rl.sample import Prompt
from assay.scoring.judgment import Judgment
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan

from .doubles import CHAT, engine, sample, score, serving, started_score


def built(config: RewardConfig, *engines: FakeEngine, reask: int = 1) -> object:
    return build_reward(config, backends={"__default__": Scorer(engines[0], reask=reask)})


def test_where_the_question_and_the_gold_answer_stand() -> None:
    assert question(CHAT, {}) == CHAT
    assert question("2+2?", {}) == (Message(role="user", content="2+2?"),)
    assert question(CHAT, {"question": "3+3?"}) == (Message(role="user", content="3+3?"),)
    assert question(CHAT, {"question": " "}) == CHAT
    assert [gold("4", {}), gold("4", {"label": "5"}), gold("4", {"label": ""}), gold("4", {"label": 34})] == [
        "4",
        "5",
        "4",
        "34",
    ]
    assert gold(None, {}) is None
    with pytest.raises(InputError, match=r"metadata\['label'\] must be a text or a number"):
        gold("4", {"label": ["4"]})
    item = to_item([sample("a"), sample("b", 1)])
    assert (item.id, item.reference, [c.text for c in item.candidates]) == ("3", "4", ["a", "b"])


def test_dapo_genrm_returns_score_acc_and_pred() -> None:
    said = engine(lambda text: " 1\n" if "Wrong" not in text else "0")
    reward = built(RewardConfig(rm_type="dapo-genrm", reward_key="score"), said)
    right, wrong = score(reward, sample(), sample("Answer: Wrong", 1))
    assert (right.value, right.parts) == (1.0, {"score": 1.0, "acc": 1, "pred": "1"})
    assert (wrong.value, wrong.parts) == (0.0, {"score": 0.0, "acc": 0, "pred": "0"})
    assert right.judge.startswith("verifier-")


@pytest.mark.parametrize("said", ["1.", "Yes", "11", "", "The answer is 1", "1\n1"])
def test_what_is_not_exactly_1_or_0_is_a_failure_and_never_a_number(said: str) -> None:
    (reward,) = score(built(RewardConfig(rm_type="dapo-genrm"), engine(said)), sample())
    assert reward.value is None
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.PARSE_ERROR
    assert reward.parts == {"score": None, "acc": None, "pred": said.strip()}


def test_a_text_without_a_verdict_is_asked_again_within_the_policy() -> None:
    fake = engine("maybe")
    score(built(RewardConfig(rm_type="dapo-genrm"), fake, reask=2), sample())
    assert fake.calls == 3


def test_a_missing_gold_answer_is_an_error_before_the_rollout_and_at_first_sight() -> None:
    reward = built(RewardConfig(rm_type="dapo-genrm"), engine())
    assert isinstance(reward.reward, ChecksPrompts)
    reward.reward.check(Prompt(ordinal=6, prompt=CHAT, label="4"))
    with pytest.raises(InputError, match=r"prompt 7.*no reference.*else its label"):
        reward.reward.check(Prompt(ordinal=7, prompt=CHAT))
    for label in (None, "", "  "):
        with pytest.raises(InputError, match=r"item '3/0'.*no reference.*else its label"):
            score(reward, sample(label=label))
    reward.reward.check(Prompt(ordinal=1, prompt="q", metadata={"label": "4"}))


def test_answers_that_end_alike_are_asked_once_also_in_front_of_http() -> None:
    async def run() -> None:
        judge = build_judge("verifier")
        fake = engine("1", latency_s=0.05)
        calls = 0

        class Counting(Scorer):
            async def judge(self, *args: object, **named: object) -> object:
                nonlocal calls
                calls += 1
                return await super().judge(*args, **named)

        reward = JudgeReward(judge, Counting(fake, deduplicate=False))
        group = [sample(f"way {index}. Answer: {index % 2}", index) for index in range(8)]
        deadline = Deadline.after(10)
        each = await asyncio.gather(*(reward.score([one], deadline) for one in group))
        assert [one.value for (one,) in each] == [1.0] * 8
        assert calls == 2

    asyncio.run(run())


def test_who_joins_a_call_does_not_share_the_deadline_of_its_maker() -> None:
    async def run() -> None:
        reward = JudgeReward(build_judge("verifier"), Scorer(engine("1", latency_s=0.3)))
        first = asyncio.create_task(reward.score([sample()], Deadline.after(0.05)))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(reward.score([sample(index=1)], Deadline.after(10)))
        (early,), (late,) = await asyncio.gather(first, second)
        assert early.failure is not None
        assert early.failure.kind is FailureKind.TIMEOUT
        assert late.value == 1.0

    asyncio.run(run())


def test_overloaded_is_asked_again_when_it_says_and_only_within_the_deadline() -> None:
    async def run() -> None:
        calls = 0

        class Full(Scorer):
            async def judge(self, *args: object, **named: object) -> Judgment:
                nonlocal calls
                calls += 1
                judgment = await super().judge(*args, **named)
                if calls > 2:
                    return judgment
                full = Failure(kind=FailureKind.OVERLOADED, detail="full", retry_after=0.001)
                return replace(judgment, outcome=full)

        reward = JudgeReward(build_judge("verifier"), Full(engine("1")))
        (one,) = await reward.score([sample()], Deadline.after(60))
        assert (one.value, calls) == (1.0, 3)

    asyncio.run(run())
    later = engine(faults={"overloaded": 1.0}, retry_after_s=300)
    (reward,) = score(built(RewardConfig(rm_type="dapo-genrm"), later), sample(), seconds=60)
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.OVERLOADED
    assert later.calls == 1


def test_a_judge_that_wakes_up_in_time_is_waited_for() -> None:
    async def run() -> None:
        fake = engine("1")
        tags = frozenset({"weights", "kv_cache"})
        await fake.sleep(tags)
        reward = JudgeReward(build_judge("verifier"), Scorer(fake))
        task = asyncio.create_task(reward.score([sample()], Deadline.after(20)))
        await asyncio.sleep(0.05)
        await fake.wake(tags)
        assert (await task)[0].value == 1.0

    asyncio.run(run())


def shown_order(scores: dict[str, int]) -> Callable[[str], str]:
    """A pointwise judge that knows the score of every answer, in whatever order they are shown."""

    def reply(text: str) -> str:
        places = sorted((text.index(answer), str(value)) for answer, value in scores.items())
        return "\\boxed{" + ", ".join(value for _, value in places) + "}"

    return reply


def test_a_pointwise_judge_scores_a_group_as_one_item() -> None:
    fake = engine(shown_order({"alpha": 9, "beta": 2, "gamma": 5}))
    reward = built(RewardConfig(judge="pointwise", group_rm=True), fake)
    assert reward.grouped
    rewards = score(reward, sample("alpha"), sample("beta", 1), sample("gamma", 2))
    assert [one.value for one in rewards] == [9.0, 2.0, 5.0]
    assert fake.calls == 1


def test_a_pairwise_judge_gives_the_best_one_1_and_the_others_0() -> None:
    def best(text: str) -> str:
        shown = sorted(("alpha", "beta", "gamma"), key=text.index)
        return f"\\boxed{{{shown.index('beta') + 1}}}"

    group = sample("alpha"), sample("beta", 1), sample("gamma", 2)
    reward = built(RewardConfig(judge="pairwise", group_rm=True), engine(best))
    assert [one.value for one in score(reward, *group)] == [0.0, 1.0, 0.0]
    voted = RewardConfig(judge="pairwise", group_rm=True, reward_voting=RewardVoting(k=4))
    assert [one.value for one in score(built(voted, engine(best)), *group)] == [0.0, 1.0, 0.0]
    (alone,) = score(reward, sample("alpha"))
    assert alone.failure is not None
    assert "nothing to compare" in alone.failure.detail


def test_a_group_whose_judgment_fails_has_a_failure_for_every_answer() -> None:
    reward = built(RewardConfig(judge="pointwise", group_rm=True), engine("no box"))
    rewards = score(reward, sample("alpha"), sample("beta", 1))
    assert [one.failure and one.failure.kind for one in rewards] == [FailureKind.PARSE_ERROR] * 2


def test_votes_are_averaged_so_that_a_failed_vote_does_not_lower_the_reward() -> None:
    seen: list[str] = []

    def three_of_four(text: str) -> str:
        seen.append(text)
        return "no box" if len(seen) == 2 else "\\boxed{8}"

    config = RewardConfig(judge="pointwise", reward_voting=RewardVoting(k=4))
    (reward,) = score(built(config, engine(three_of_four), reask=0), sample())
    assert reward.value == 8.0
    with pytest.raises(InputError, match="use 'mean' for rewards"):
        JudgeReward(build_judge("pointwise"), Scorer(engine()), plan=VotePlan(k=4, reduce="sum"))


def test_what_cannot_work_with_any_sample_is_refused_when_it_is_built() -> None:
    for config, told in (
        (RewardConfig(judge="pairwise"), "add --group-rm"),
        (RewardConfig(rm_type="dapo-genrm", group_rm=True), "leave --group-rm out"),
        (RewardConfig(judge="nobody"), "unknown judge 'nobody'"),
        (RewardConfig(judge="pointwise", judge_options={"colour": 1}), "no option 'colour'"),
        (RewardConfig(rm_type="dapo-genrm", reward_key="total"), "not 'total'"),
        (RewardConfig(), "nothing says what an answer earns"),
    ):
        with pytest.raises(InputError, match=told):
            built(config, engine())
    with pytest.raises(InputError, match=r"no judge runs under route_key='b'; there are \['a'\]"):
        build_reward(RewardConfig(judge="pointwise", route_key="b"), backends={"a": Scorer(engine())})


def test_math_by_a_rule_of_this_process() -> None:
    right, wrong = score(
        build_reward(RewardConfig(rm_type="math")), sample("so it is $\\boxed{\\frac{8}{2}}$"), sample("Answer: 5", 1)
    )
    assert (right.value, wrong.value) == (1.0, 0.0)


def test_a_service_judges_as_a_local_scorer_does() -> None:
    async def run() -> None:
        quality, safety = engine(lambda text: "1" if "Answer: 4" not in text else "0"), engine("0")
        async with serving({"quality": quality, "safety": safety}) as url:
            config = RewardConfig(rm_type="dapo-genrm", genrm_url=url, route_key="quality")
            (remote,) = await started_score(build_reward(config), sample())
            local = JudgeReward(build_judge("verifier"), Scorer(engine("1")))
            (here,) = await local.score([sample()], Deadline.after(5))
            assert (remote.value, remote.judge) == (here.value, here.judge)
            assert (quality.calls, safety.calls) == (1, 0)

    asyncio.run(run())


def test_what_the_service_lacks_is_said_at_the_start() -> None:
    async def run() -> None:
        async with serving({"quality": engine(), "safety": engine()}, verifier={"lenient": True}) as url:
            for said, told in (
                ({"judge": "pointwise", "route_key": "style"}, r"no instance 'style'.*\['quality', 'safety'\]"),
                ({"judge": "pointwise"}, r"several instances: name one of \['quality', 'safety'\]"),
                ({"rm_type": "dapo-genrm", "route_key": "safety"}, "give both the same options"),
            ):
                reward = build_reward(RewardConfig(genrm_url=url, **said))
                with pytest.raises(InputError, match=told):
                    await reward.start()

    asyncio.run(run())


def test_a_judge_service_that_is_not_there_is_said_at_the_start() -> None:
    async def run() -> None:
        reward = build_reward(RewardConfig(rm_type="dapo-genrm", genrm_url="http://127.0.0.1:9/genrm"))
        with pytest.raises(StartError, match=r"no judge service at http://127\.0\.0\.1:9/genrm.*assay serve"):
            await reward.start()

    asyncio.run(run())


def test_the_criteria_of_a_rubric_stand_in_the_parts_here_and_over_http() -> None:
    async def run() -> None:
        judge = build_judge("rubric")
        scores = "\\boxed{" + ", ".join("7" for _ in judge.criteria) + "}"
        (here,) = await JudgeReward(judge, Scorer(engine(scores))).score([sample()], Deadline.after(5))
        async with serving({"__default__": engine(scores)}) as url:
            (there,) = await started_score(build_reward(RewardConfig(judge="rubric", genrm_url=url)), sample())
        assert here.value == there.value == 7.0
        assert here.parts == there.parts == {"score": 7.0} | {one.name: 7.0 for one in judge.criteria}

    asyncio.run(run())
