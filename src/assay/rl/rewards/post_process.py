"""``--custom-reward-post-process-path``: a hook of the user's on all samples of a batch, as Relax and slime call it.

``fn(args, samples) -> (raw_rewards, rewards)``, or rewards alone; ``async`` or not. The rewards are what is trained on:
advantages are worked out of them as of any others (a group that the hook has normalised stays as it is by GRPO). Each
raw reward stands in the parts under ``raw``, with the entries of a dict that the hook writes to ``sample.reward``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from assay.core.deadline import Deadline
from assay.core.types import Failure

from ..sample import Group, Reward, Sample, Status
from .calling import UserFunction
from .returned import listed, plain, read_reward
from .seen import SeenSample, kept, seen


class PostProcess:
    """``ports.Scoring`` around a hook. ``timeout_s``: most seconds that it may take over a batch."""

    def __init__(self, hook: UserFunction, args: Any, *, timeout_s: float = 3600.0) -> None:
        self._hook = hook
        self._args = args
        self._timeout_s = timeout_s

    async def score(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """The groups with their rewards; of a hook that raises, with a failure for every sample.

        Raises:
            InputError: the hook returned something else than one reward (and one raw reward) per sample.
        """
        samples = [sample for group in groups for sample in group.samples if sample.status is not Status.FAILED]
        if not samples:
            return tuple(groups)
        shown = [seen(sample) for sample in samples]
        returned = await self._hook.call(self._args, shown, deadline=Deadline.after(self._timeout_s))
        if isinstance(returned, Failure):
            rewards = [Reward(failure=returned, judge=self._hook.name) for _ in samples]
        else:
            rewards = read_processed(returned, samples, shown, self._hook.name)
        found = iter(rewards)
        return tuple(
            replace(group, samples=tuple(_with(sample, found) for sample in group.samples)) for group in groups
        )

    async def close(self) -> None:
        await self._hook.close()


def read_processed(returned: Any, samples: Sequence[Sample], shown: Sequence[SeenSample], source: str) -> list[Reward]:
    """One reward per sample out of what the hook returned and what it wrote into the samples. Pure.

    Raises:
        InputError: it returned another number of rewards than there are samples.
    """
    raw, rewards = _pair(returned)
    values = listed(rewards, len(samples), source)
    before = values if raw is None else listed(raw, len(samples), source)
    made: list[Reward] = []
    for value, first, one, sample in zip(values, before, shown, samples, strict=True):
        reward = read_reward(value, "score", source)
        written = one.reward if isinstance(one.reward, dict) else {}
        inline = {} if sample.reward is None else sample.reward.parts
        parts = {
            **inline,
            **{name: plain(entry) for name, entry in written.items()},
            **reward.parts,
            "raw": plain(first),
        }
        made.append(kept(replace(reward, parts=parts), one, source))
    return made


def _pair(returned: Any) -> tuple[Any, Any]:
    """(raw rewards or None, rewards)."""
    if isinstance(returned, tuple | list):
        both = cast("Sequence[Any]", returned)
        if len(both) == 2 and all(isinstance(one, list | tuple) or hasattr(one, "tolist") for one in both):
            return (both[0], both[1]) if _many(both[0]) and _many(both[1]) else (None, returned)
    return None, returned


def _many(values: Any) -> bool:
    """Whether it is a list, and not one number of numpy or torch (those have ``tolist`` too)."""
    return isinstance(values, list | tuple) or isinstance(values.tolist(), list)


def _with(sample: Sample, rewards: Any) -> Sample:
    return sample if sample.status is Status.FAILED else replace(sample, reward=next(rewards))
