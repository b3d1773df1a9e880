"""The rewards of a whole batch, asked of the judge after the rollout (``--custom-reward-post-process-path``).

When this is called the rollout sleeps and the judge is awake on all GPUs; afterwards it is the other way round. The run
does the swap itself, in every mode, and holds requests until the judge has proved that it is awake. So what is left for
the hook is what to ask, and what the answers are worth: here the same as ``--rm-type dapo-genrm``, with the length
taken off as an example of what a hook is for.
"""

from __future__ import annotations

from typing import Any

from assay.client.adapters import JudgeScores
from assay.core.types import Failure

JUDGE = JudgeScores(judge="verifier")

PENALTY = 0.1
"""What an answer that was cut off at the length limit loses."""

Reward = float | Failure


async def post_process(args: Any, samples: list[Any]) -> tuple[list[Reward], list[Reward]]:
    """(raw rewards, rewards), one each for every sample, in their order; all are asked side by side."""
    raw = await JUDGE.many(
        [sample.metadata.get("question") or sample.prompt for sample in samples],
        [sample.response for sample in samples],
        [sample.metadata.get("label") or sample.label for sample in samples],
    )
    return raw, [shaped(reward, sample) for reward, sample in zip(raw, samples, strict=True)]


def shaped(reward: Reward, sample: Any) -> Reward:
    """The reward that is trained on. A failure stays one."""
    cut_off = str(sample.status) == "truncated"
    return reward if isinstance(reward, Failure) or not cut_off else reward - PENALTY
