"""From the flags to a reward function. The one table of reward types; no registry."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.judges import build_judge
from assay.scoring.batch import Judging
from assay.voting.plan import VotePlan

from ..sample import Reward, Sample
from .asking import Asker
from .backends import Backends
from .base import RewardFunction
from .calling import UserFunction
from .combined import CombinedReward, Part
from .config import RewardConfig
from .custom import CustomReward
from .dummy import DummyReward
from .judge import JudgeReward, dapo_parts, score_part
from .loading import load_function
from .outcome import OutcomeReward
from .post_process import PostProcess
from .seen import RunArgs
from .steps import AGGREGATES, StepCutter, StepsReward

log = logging.getLogger(__name__)


class BuiltReward:
    """A reward function with the backends that it asks: started and closed as one."""

    def __init__(self, reward: RewardFunction, backends: Backends) -> None:
        self.reward = reward
        self._backends = backends

    @property
    def grouped(self) -> bool:
        return self.reward.grouped

    async def start(self) -> None:
        """See ``Backends.start``."""
        if self._backends.config.judge_failure_as == "zero":
            log.warning("--judge-failure-as zero: a judgment that fails counts as a reward of 0.0, like a wrong answer")
        try:
            await self._backends.start()
            await self.reward.start()
        except BaseException:
            await self.close()
            raise

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        return await self.reward.score(samples, deadline)

    async def close(self) -> None:
        await self.reward.close()
        await self._backends.close()


def build_reward(
    config: RewardConfig, *, backends: Mapping[str, Judging] | None = None, flags: Mapping[str, Any] | None = None
) -> BuiltReward:
    """The reward function that the flags ask for: inline, or, where rewards are deferred, for the whole batch.

    Args:
        backends: who answers the judges, by route key (``__default__``; ``__rules__`` for rule judges), where they
            run already; they are neither started nor closed here. None asks the judge service of ``config``.
        flags: those of the whole run, as functions of the user's see them in ``args``.

    Raises:
        InputError: the flags name no reward, or one that cannot work; the message says the fix.
    """
    made = Backends(config=config, given=backends)
    return BuiltReward(_reward(config, made, run_args(config, flags)), made)


def askers(reward: RewardFunction) -> dict[str, Asker]:
    """The judges of a reward, by what tells them apart: the part, the module; one alone has no name. None of a function
    of the user's.
    """
    match reward:
        case JudgeReward():
            return {"": reward.asker}
        case StepsReward():
            return dict(reward.judges)
        case CombinedReward():
            return {part.name: asker for part in reward.parts for asker in askers(part.reward).values()}
        case _:
            return {}


def build_post_process(config: RewardConfig, flags: Mapping[str, Any] | None = None) -> PostProcess | None:
    """The hook on whole batches (``ports.Scoring``), None where none is named. Raises InputError: it cannot be used."""
    path = config.custom_reward_post_process_path
    if path is None:
        return None
    hook = _user_function(config, path, "--custom-reward-post-process-path", ("args", "samples"))
    return PostProcess(hook, run_args(config, flags))


def run_args(config: RewardConfig, flags: Mapping[str, Any] | None) -> RunArgs:
    """The run's flags for functions of the user's; those of rewards are always among them."""
    return RunArgs({name: getattr(config, name) for name in RewardConfig.model_fields} | dict(flags or {}))


def _reward(config: RewardConfig, backends: Backends, args: RunArgs) -> RewardFunction:
    if config.custom_rm_path is not None:
        takes = ("args", "samples" if config.group_rm else "sample")
        function = _user_function(config, config.custom_rm_path, "--custom-rm-path", takes)
        return CustomReward(function, args, grouped=config.group_rm, key=config.reward_key)
    if config.reward_parts:
        return _combined(config, backends, args)
    if config.step_judges:
        return _steps(config, backends, args)
    rm_type = "judge" if config.judge is not None else config.rm_type
    if rm_type == "dummy" and config.deferred and config.custom_reward_post_process_path is None:
        # The seeds' defer-swap: nothing inline, and the built-in scoring of the batch is that of dapo-genrm.
        rm_type = "dapo-genrm"
    match rm_type:
        case "dummy":
            return DummyReward()
        case "dapo-genrm" | "math" | "judge":
            name = {"dapo-genrm": "verifier", "math": "math"}.get(rm_type, config.judge or "")
            return _judge(config, backends, name, dapo=rm_type == "dapo-genrm")
        case "grm-outcome":
            return OutcomeReward(readable=config.grm_readable_bonus)
        case None:
            raise InputError(
                "nothing says what an answer earns: give --rm-type (dapo-genrm, math, judge, grm-outcome, dummy), "
                "--judge, --custom-rm-path, --reward-parts or --step-judges"
            )


def _judge(config: RewardConfig, backends: Backends, name: str, *, dapo: bool) -> JudgeReward:
    keys = ("score", "acc") if dapo else ("score",)
    if config.reward_key not in (None, *keys):
        raise InputError(
            f"judge {name!r} gives {' and '.join(keys)}, not {config.reward_key!r}: say --reward-key score"
        )
    judge = build_judge(name, **config.judge_options)
    plan = plan_of(config)
    return JudgeReward(
        judge,
        backends.of(judge, config.route_key, plan),
        grouped=config.group_rm,
        plan=plan,
        seed=config.reward_seed,
        told=dapo_parts if dapo else score_part,
    )


def _combined(config: RewardConfig, backends: Backends, args: RunArgs) -> CombinedReward:
    parts: list[Part] = []
    for name, said in config.reward_parts.items():
        try:
            reward = _reward(config.part(name), backends, args)
        except InputError as error:
            raise InputError(f"reward_parts {name!r}: {error}") from error
        parts.append(Part(name=name, reward=reward, weight=said.weight, required=said.required))
    return CombinedReward(parts)


def _steps(config: RewardConfig, backends: Backends, args: RunArgs) -> StepsReward:
    plan = plan_of(config)
    judges: dict[str, Asker] = {}
    for module, said in config.step_judges.items():
        judge = build_judge(said.judge, **said.judge_options)
        reward = JudgeReward(judge, backends.of(judge, said.route_key, plan), plan=plan, seed=config.reward_seed)
        judges[module] = reward.asker
    how: str | UserFunction = config.step_aggregate
    if how not in AGGREGATES:
        how = _user_function(config, how, "--step-aggregate", ("scores", "steps"))
    cut = None
    if config.custom_steps_path is not None:
        cut = _user_function(config, config.custom_steps_path, "--custom-steps-path", ("args", "sample"))
    return StepsReward(judges, how, None if cut is None else StepCutter(cut, args))


def _user_function(config: RewardConfig, path: str, flag: str, takes: tuple[str, ...]) -> UserFunction:
    function = load_function(path, flag=flag, takes=takes)
    return UserFunction(function, path, threads=config.reward_threads, url=config.genrm_url)


def plan_of(config: RewardConfig) -> VotePlan | None:
    """How the judges vote."""
    return None if config.reward_voting is None else config.reward_voting.plan()
