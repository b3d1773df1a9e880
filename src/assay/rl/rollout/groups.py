"""The answers to one prompt: sampled side by side, each judged as it ends, while the others still generate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assay.core.deadline import Deadline

from ..rewards.base import RewardFunction
from ..sample import Group, Prompt, Sample, Status
from ..tasks import together
from .answer import Answering
from .config import RolloutConfig

Keep = Callable[[Sample], None]


class Groups:
    """Rolls out groups. ``reward`` None: rewards come later, or never (defer-swap, evaluation by a rule).

    ``render`` gives the tokens of a prompt.
    """

    def __init__(
        self,
        answering: Answering,
        config: RolloutConfig,
        render: Callable[[Prompt], tuple[int, ...]],
        reward: RewardFunction | None = None,
    ) -> None:
        self._answering = answering
        self._config = config
        self._render = render
        self._reward = reward
        self._places = asyncio.Semaphore(config.rollout_concurrency)

    async def roll(self, prompt: Prompt, begun: Mapping[int, Sample] | None = None, keep: Keep | None = None) -> Group:
        """The group of a prompt.

        Args:
            begun: samples by index that were aborted earlier, to be gone on with.
            keep: see ``Answering.answer``.
        """
        ids = self._render(prompt)
        begun = begun or {}
        blanks = [begun.get(index) or _blank(prompt, index, ids) for index in range(self._config.n_samples_per_prompt)]
        inline = self._reward is not None and not self._reward.grouped
        samples = await together(self._one(sample, keep, inline=inline) for sample in blanks)
        if self._reward is not None and self._reward.grouped:
            samples = await self.judged(samples)
        return Group(prompt=prompt, samples=tuple(samples))

    async def judged(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with their rewards; those that the rollout did not answer have none and are not judged."""
        if self._reward is None:
            return list(samples)
        answered = [sample for sample in samples if sample.status is not Status.FAILED]
        if not answered:
            return list(samples)
        deadline = Deadline.after(self._config.reward_timeout_s)
        if self._reward.grouped:
            rewards = list(await self._reward.score(answered, deadline))
        else:
            each = await asyncio.gather(*(self._reward.score([sample], deadline) for sample in answered))
            rewards = [one for rewards in each for one in rewards]
        found = {sample.index: reward for sample, reward in zip(answered, rewards, strict=True)}
        return [replace(sample, reward=found.get(sample.index)) for sample in samples]

    async def _one(self, sample: Sample, keep: Keep | None, *, inline: bool) -> Sample:
        async with self._places:
            answered = await self._answering.answer(sample, keep)
        # The place is free while the judge works: what generates next does not wait for it.
        return (await self.judged([answered]))[0] if inline else answered


def _blank(prompt: Prompt, index: int, ids: tuple[int, ...]) -> Sample:
    return Sample(
        group_index=prompt.ordinal,
        index=index,
        prompt=prompt.prompt,
        label=prompt.label,
        metadata=prompt.metadata,
        prompt_ids=ids,
    )
