"""Which rewards a run trains on and evaluates by: inline, of the whole batch, of the user's hook, by another entry.

| | inline | in the phase ``judge`` | after the batch of any mode |
|---|---|---|---|
| as usual | the reward | | the hook, where there is one |
| ``--defer-reward-to-post-process`` | | the reward, then the hook | |

Evaluation is judged as training is, without the hook: what it makes of rewards (a group's normal scores, say) is for
training. Only where the hook is all that gives rewards (``--rm-type dummy``) evaluation takes its raw ones. Owns: this
table. Does not own: rewards, the hook, when anything is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.errors import InputError

from .batch_scoring import Chained, DeferredScoring
from .config import TrainConfig
from .evaluation import EvalConfig
from .ports import Scoring
from .progress import Tell, ToldReward
from .rewards.base import RewardFunction
from .rewards.build import BuiltReward, build_post_process
from .rewards.dummy import DummyReward
from .rewards.picked import Picked
from .rewards.post_process import PostProcess
from .rollout.answer import Answering
from .rollout.config import RolloutConfig
from .rollout.groups import Groups

RAW = "raw"
"""The part under which the hook's raw reward stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The user's hook as training calls it, and as evaluation does: with its own number of answers to a prompt."""

    training: PostProcess
    evaluation: PostProcess

    async def close(self) -> None:
        await self.training.close()
        await self.evaluation.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardUse:
    """``reward``: whoever judges. ``deferred``: in a phase of its own."""

    reward: BuiltReward
    deferred: bool
    hooks: Hooks | None = None
    tell: Tell | None = None

    @property
    def inline(self) -> RewardFunction | None:
        """For the answers of training as they end."""
        return None if self.deferred else self._told()

    @property
    def processed(self) -> Scoring | None:
        """For a batch without a phase of its own for judging."""
        return None if self.deferred or self.hooks is None else self.hooks.training

    def batch(self, answering: Answering, rollout: RolloutConfig) -> Scoring | None:
        """For the phase ``judge``; None where there is none."""
        if not self.deferred:
            return None
        own = _whole(answering, rollout, self._told())
        return own if self.hooks is None else Chained(own, self.hooks.training)

    @property
    def eval_inline(self) -> RewardFunction | None:
        """For the answers of evaluation as they end."""
        return None if self.deferred else self.reward

    def evaluated(self, answering: Answering, rollout: RolloutConfig, key: str | None) -> Scoring | None:
        """For a whole set; None where its answers were judged as they ended, and nothing else counts."""
        links: list[Scoring] = []
        if self.deferred:
            links.append(_whole(answering, rollout, self.reward))
        if self.hooks is not None and isinstance(self.reward.reward, DummyReward):
            links += [self.hooks.evaluation, Picked(RAW)]
        if key is not None:
            links.append(Picked(key))
        return Chained(*links) if links else None

    def _told(self) -> RewardFunction:
        return self.reward if self.tell is None else ToldReward(self.reward, self.tell)


def build_hooks(config: TrainConfig, reward: BuiltReward) -> Hooks | None:
    """The user's hook, None where none is named.

    Raises:
        InputError: it cannot be used, or nothing gives a reward.
    """
    flags = dict(config)
    training = build_post_process(config, flags)
    evaluated = {"n_samples_per_prompt": config.settings(EvalConfig).n_samples_per_eval_prompt}
    evaluation = build_post_process(config, flags | evaluated)
    if training is None or evaluation is None:
        if isinstance(reward.reward, DummyReward):
            raise InputError(
                "--rm-type dummy gives every answer a reward of 0, and nothing else is said to give one: add "
                "--defer-reward-to-post-process, or a hook (--custom-reward-post-process-path), or name another "
                "--rm-type"
            )
        return None
    if isinstance(reward.reward, DummyReward) and config.dynamic_sampling_filter != "none":
        raise InputError(
            f"--dynamic-sampling-filter {config.dynamic_sampling_filter} looks at rewards before the hook gives any; "
            "leave it out"
        )
    return Hooks(training=training, evaluation=evaluation)


def _whole(answering: Answering, rollout: RolloutConfig, reward: RewardFunction) -> Scoring:
    return DeferredScoring(Groups(answering, rollout, lambda _: (), reward))
