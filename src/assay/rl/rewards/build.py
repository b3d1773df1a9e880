"""From the flags to a reward function. The one table of reward types; no registry."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.judges import build_judge
from assay.scoring.batch import Judging
from assay.voting.plan import VotePlan

from ..sample import Prompt, Reward, Sample
from .backends import Backends
from .base import RewardFunction
from .config import RewardConfig
from .dummy import DummyReward
from .judge import JudgeReward, dapo_parts, score_part

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

    def check(self, prompts: Iterable[Prompt]) -> None:
        """Refuse prompts that lack what the judge needs, before anything is rolled out.

        Raises:
            InputError: names the first one and what is missing.
        """
        if isinstance(self.reward, JudgeReward):
            for prompt in prompts:
                self.reward.check(prompt)


def build_reward(config: RewardConfig, *, backends: Mapping[str, Judging] | None = None) -> BuiltReward:
    """The reward function that the flags ask for: inline, or, where rewards are deferred, for the whole batch.

    Args:
        backends: who answers the judges, by route key (``__default__``; ``__rules__`` for rule judges), where they
            run already; they are neither started nor closed here. None asks the judge service of ``config``.

    Raises:
        InputError: the flags name no reward, or one that cannot work; the message says the fix.
    """
    if config.judge_failure_as == "zero":
        log.warning("--judge-failure-as zero: a judgment that fails counts as a reward of 0.0, like a wrong answer")
    made = Backends(config=config, given=backends)
    return BuiltReward(_reward(config, made), made)


def _reward(config: RewardConfig, backends: Backends) -> RewardFunction:
    rm_type = "judge" if config.judge is not None else config.rm_type
    if rm_type == "dummy" and config.deferred:
        # The seeds' defer-swap: nothing inline, and the built-in scoring of the batch is that of dapo-genrm.
        rm_type = "dapo-genrm"
    match rm_type:
        case "dummy":
            return DummyReward()
        case "dapo-genrm" | "math" | "judge":
            name = {"dapo-genrm": "verifier", "math": "math"}.get(rm_type, config.judge or "")
            return _judge(config, backends, name, dapo=rm_type == "dapo-genrm")
        case None:
            raise InputError(
                "nothing says what an answer earns: give --rm-type (dapo-genrm, math, judge, dummy), --judge, "
                "--custom-rm-path, --reward-parts or --step-judges"
            )


def _judge(config: RewardConfig, backends: Backends, name: str, *, dapo: bool) -> JudgeReward:
    keys = ("score", "acc") if dapo else ("score",)
    for key in (config.reward_key, config.eval_reward_key):
        if key is not None and key not in keys:
            raise InputError(f"judge {name!r} gives {' and '.join(keys)}, not {key!r}: say --reward-key score")
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


def plan_of(config: RewardConfig) -> VotePlan | None:
    """How the judges vote."""
    return None if config.reward_voting is None else config.reward_voting.plan()
