"""Whether a run can begin, as far as that is known before its models are loaded: minutes later it is an expensive no.

Owns: these checks, and their order. Does not own: what any part accepts; each is asked, and none of them is started.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from assay.client import GenRMClient
from assay.core.errors import InputError
from assay.placement.plans import PlacementPlan
from assay.scoring.remote import RemoteScorer
from assay.training import folders
from assay.wire.genrm import RULES_KEY

from .config import TrainConfig
from .engine_checks import check_engines, check_models
from .local.publish import local_way
from .monitor.build import build_monitors
from .monitor.config import MonitorConfig
from .reward_use import build_hooks
from .rewards.base import ChecksPrompts, RewardFunction
from .rewards.build import build_reward
from .rewards.config import RewardConfig
from .run_data import RunData


def check_parts(config: TrainConfig, plan: PlacementPlan | None) -> None:
    """What a run is made of: options of engines, models by their names, the checkpoint to go on from.

    Raises:
        InputError, StartError: names the flag and what is wrong.
    """
    check_engines(config)
    check_models(config)
    if not config.ray and config.rollout_engine != "sglang":
        local_way(config, plan, None)
    if config.load is not None:
        try:
            folders.find(Path(config.load))
        except InputError as error:
            raise InputError(f"--load: {error}") from error


async def check_judging(config: TrainConfig, data: RunData) -> None:
    """Rewards, hook and monitors as the flags say them, and all prompts against what the reward needs.

    Judges of this run do not run yet: somebody who is never asked stands for them.

    Raises:
        InputError: a judge, an option, a route key or a function of the user's is wrong, or a prompt lacks something;
            names its flag, file and line.
    """
    rewards = config.settings(RewardConfig)
    async with AsyncExitStack() as stack:
        absent = {
            key: RemoteScorer(GenRMClient(config.genrm_url), route_key=key) for key in (*config.specs(), RULES_KEY)
        }
        for one in absent.values():
            stack.push_async_callback(one.close)
        backends = absent if config.specs() else None
        # Not closed: nothing of it is opened, and what functions of the user's share is not ours to close.
        reward = build_reward(rewards, backends=backends, flags=dict(config))
        build_hooks(config, reward)
        check_prompts(reward.reward, data)
        monitors = build_monitors(
            config.settings(MonitorConfig),
            rewards,
            reward.reward,
            gold=data.gold,
            backends=backends,
            labelled=any(row.label is not None for row in data.rows),
        )
        stack.push_async_callback(monitors.close)


def check_prompts(reward: RewardFunction, data: RunData) -> None:
    """Raises InputError: a prompt lacks what every answer to it would be judged by; names flag, file and line."""
    if not isinstance(reward, ChecksPrompts):
        return
    for place, row in enumerate(data.every):
        try:
            reward.check(row.drawn(place))
        except InputError as error:
            why = f". Its label: {row.unlabelled}" if row.unlabelled else ""
            raise InputError(f"{row.where}: {error}{why}") from error
