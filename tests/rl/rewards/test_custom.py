"""Reward functions of the user's: those of the seeds unchanged against two judges, and all the ways to be wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import FailureKind
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.failures import failed
from assay.rl.rewards.loading import load_function
from assay.rl.rewards.seen import RunArgs, seen
from assay.rl.sample import Reward

from .doubles import engine, sample, score, serving, started_score

HERE = Path(__file__).with_name("functions.py")
FLAGS = {"rollout_max_response_len": 16, "n_samples_per_prompt": 2}


def custom(name: str, **said: Any) -> Any:
    return build_reward(RewardConfig(custom_rm_path=f"{HERE}:{name}", **said), flags=FLAGS)


def test_the_seeds_function_with_two_judges_runs_unchanged() -> None:
    async def run() -> None:
        quality = engine(lambda text: "1" if "Answer: 4" in text else "0")
        safety = engine(lambda text: "0" if "bomb" in text else "1")
        async with serving({"quality": quality, "safety": safety}) as url:
            rewards = await started_score(
                custom("reward_func", genrm_url=url, reward_key="score"),
                sample("Answer: 4"),
                sample("Answer: 5", 1),
                sample("a bomb. Answer: 4", 2),
            )
        assert [one.value for one in rewards] == [1.0, 0.0, 0.0]
        assert rewards[2].parts == {"score": 0.0, "quality": 1.0, "safety": 0.0}
        assert (quality.calls, safety.calls) == (3, 3)

    asyncio.run(run())


def test_the_seeds_agentic_function_runs_unchanged() -> None:
    async def run() -> None:
        judges = {key: engine("1") for key in ("planner_judge", "tool_call_judge")}
        judges["final_answer_judge"] = engine("0")
        steps = [{"module": module, "content": "done"} for module in ("plan", "tool_call", "tool_call", "final_answer")]
        async with serving(judges) as url:
            reward = custom("agentic_reward_func", genrm_url=url, reward_key="score")
            (one,) = await started_score(reward, sample(metadata={"trajectory_steps": steps}))
        assert one.value == 0.75
        assert [engine.calls for engine in judges.values()] == [1, 2, 1]

    asyncio.run(run())


def test_an_unknown_route_key_in_a_function_stops_the_run() -> None:
    async def run() -> None:
        async with serving({"quality": engine(), "safety": engine()}) as url:
            with pytest.raises(InputError, match=r"unknown_judge.*No GenRM instance registered for route_key='nobody'"):
                await started_score(custom("unknown_judge", genrm_url=url), sample())

    asyncio.run(run())


def test_a_judge_that_fails_in_a_function_is_a_failure_of_its_kind() -> None:
    async def run() -> None:
        broken, safety = engine(faults={"error_502": 1.0}), engine("1")
        async with serving({"quality": broken, "safety": safety}) as url:
            (one,) = await started_score(custom("reward_func", genrm_url=url, reward_key="score"), sample())
        assert one.failure is not None
        assert one.failure.kind is FailureKind.ENGINE_ERROR

    asyncio.run(run())


def test_a_sync_function_runs_beside_the_event_loop_on_copies() -> None:
    functions_seen = load_function(f"{HERE}:length", flag="f", takes=("args", "sample")).__globals__["seen_threads"]
    mine = sample("12345678", metadata={"a": [1]})
    (one,) = score(custom("length"), mine)
    assert one.value == 0.5
    assert functions_seen[-1] == "reward function"
    assert mine.reward is None
    assert mine.metadata == {"a": [1]}


def test_sync_functions_run_side_by_side_and_beside_the_event_loop() -> None:
    names = load_function(f"{HERE}:all_at_once", flag="f", takes=("a", "s")).__globals__

    async def run() -> None:
        reward = custom("all_at_once", reward_threads=8)
        scoring = asyncio.create_task(reward.score([sample(index=i) for i in range(8)], Deadline.after(60)))
        await asyncio.sleep(0)
        names["GATE"].set()
        assert [one.value for one in await scoring] == [1.0] * 8

    asyncio.run(run())


def test_a_function_that_hangs_is_a_timeout_and_gives_its_place_back() -> None:
    async def run() -> None:
        reward = custom("hangs", reward_threads=1)
        for _ in range(2):
            (one,) = await reward.score([sample()], Deadline.after(0.1))
            assert one.failure is not None
            assert one.failure.kind is FailureKind.TIMEOUT
            assert "had not returned when the deadline passed" in one.failure.detail
        load_function(f"{HERE}:hangs", flag="f", takes=("a", "s")).__globals__["HANG"].set()

    asyncio.run(run())


def test_a_sync_function_may_ask_the_judge_in_a_loop_of_its_own() -> None:
    async def run() -> None:
        async with serving({"quality": engine("1")}) as url:
            (one,) = await started_score(custom("uses_the_sync_way", genrm_url=url), sample())
            assert one.value == 1.0

    asyncio.run(run())


def test_what_a_function_raises_costs_the_sample_and_is_never_a_0(caplog: pytest.LogCaptureFixture) -> None:
    rewards = score(custom("sometimes"), *(sample(index=index) for index in range(4)))
    assert [one.value for one in rewards] == [1.0, None, 1.0, None]
    for one in rewards[1::2]:
        assert one.failure is not None
        assert one.failure.kind is FailureKind.ENGINE_ERROR
        assert "sometimes raised ValueError: odd (functions.py:" in one.failure.detail
    assert len([record for record in caplog.records if "raised" in record.message]) == 1
    for name in ("raises", "leaves"):
        (one,) = score(custom(name), sample())
        assert one.failure is not None
        assert one.failure.kind is FailureKind.ENGINE_ERROR


def test_a_group_in_and_a_list_out() -> None:
    reward = custom("best_of_group", group_rm=True)
    assert reward.grouped
    assert [one.value for one in score(reward, sample("a"), sample("bb", 1), sample("cc", 2))] == [0.0, 1.0, 1.0]
    with pytest.raises(InputError, match="returned 1 rewards for 2 samples"):
        score(custom("too_few", group_rm=True), sample("a"), sample("b", 1))
    rewards = score(custom("raises", group_rm=True), sample("a"), sample("b", 1))
    assert all(one.failure is not None for one in rewards)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("reward_func", "write module.fn, or path/to/file.py:fn"),
        ("nobody_has_this.module.fn", "cannot import 'nobody_has_this.module': ModuleNotFoundError"),
        ("/nowhere/rewards.py:fn", "there is no such file"),
        (f"{HERE}:nothing", "there is no 'nothing' in it; there are reward_func, agentic_reward_func"),
        (f"{HERE}:NOT_A_FUNCTION", "is no function but 3"),
        (f"{HERE}:wrong_arguments", r"is called as wrong_arguments\(args, sample\): too many positional arguments"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_when_it_is_built(path: str, told: str) -> None:
    with pytest.raises(InputError, match=f"--custom-rm-path.*{told}"):
        build_reward(RewardConfig(custom_rm_path=path))


def test_a_file_that_does_not_run_says_its_own_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import math\nraise RuntimeError('no model')\n")
    with pytest.raises(InputError, match=r"cannot import .*broken\.py': RuntimeError: no model"):
        build_reward(RewardConfig(custom_rm_path=f"{file}:fn"))


def test_modules_of_the_folder_of_the_run_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rewards_folder").mkdir()
    (tmp_path / "my_rewards_folder" / "one.py").write_text("def fn(args, sample):\n    return 2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [])
    (one,) = score(build_reward(RewardConfig(custom_rm_path="my_rewards_folder.one.fn")), sample())
    assert one.value == 2.0


def test_args_are_the_flags_of_the_run_and_cannot_be_written() -> None:
    args = RunArgs({"reward_key": "score"})
    assert args.reward_key == "score"
    assert getattr(args, "rm_url", None) is None
    assert vars(args) == {"reward_key": "score"}
    with pytest.raises(AttributeError, match="the run has no flag 'rm_url'; it has reward_key"):
        args.rm_url  # noqa: B018
    with pytest.raises(AttributeError, match="args is read-only"):
        args.reward_key = "acc"


def test_a_sample_as_a_function_sees_it() -> None:
    reward = Reward(value=1.0, parts={"score": 1.0, "acc": 1})
    mine = sample(
        prompt_ids=(1, 2),
        response_ids=(3, 4, 5),
        loss_mask=(True, True, False),
        rollout_log_probs=(-1.0, -2.0, 0.0),
        weight_versions=("7", "7", "7"),
        reward=reward,
    )
    shown = seen(mine)
    assert shown.prompt == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
    assert (shown.tokens, shown.response_length, shown.effective_response_length) == ([1, 2, 3, 4, 5], 3, 2)
    assert shown.get_reward_value(RunArgs({"reward_key": "acc"})) == 1
    assert shown.get_reward_value(RunArgs({"reward_key": None})) == {"score": 1.0, "acc": 1}
    assert seen(sample(reward=Reward(value=0.5))).get_reward_value(RunArgs({"reward_key": "acc"})) == 0.5
    assert (shown.status, shown.status.value) == ("completed", "completed")


def test_a_sample_that_the_function_takes_out_is_no_0() -> None:
    first, second = score(custom("takes_out"), sample(), sample(index=1))
    assert first.value == 0.0
    assert second.failure is not None
    assert "took the sample out" in second.failure.detail
    group = score(custom("takes_all_out", group_rm=True), sample(), sample(index=1))
    assert [one.value for one in group] == [None, None]


def test_a_custom_function_wins_over_the_reward_type_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    RewardConfig(rm_type="math", custom_rm_path="a.b")
    assert "rm_type 'math' is ignored, because custom_rm_path is set" in caplog.text


def test_a_dummy_is_no_judgment() -> None:
    (one,) = score(build_reward(RewardConfig(rm_type="dummy")), sample())
    assert (one.value, one.judge) == (0.0, "dummy")
    assert not failed(sample(reward=one))
