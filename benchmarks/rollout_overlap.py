"""Rollout and scoring side by side, beside each of them alone: how much of the judging hides behind the rollout.

    python -m benchmarks.rollout_overlap [--prompts 32] [--samples 8]

The engines of both are fakes that only take time, so all else is the product: rollout, reward function, scorer, judge.
Answers take log-normal seconds (mean 1, a long tail), all of them at a time; the judge has so many places and takes so
long that judging everything takes about 0.1, 0.5, 1 and 2 times as long as the rollout. The target is 1.15 times the
longer of the two.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from assay.core.types import Request
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.rl.batch_scoring import DeferredScoring
from assay.rl.cursor import Cursor
from assay.rl.rewards.judge import JudgeReward
from assay.rl.rollout.answer import Answering
from assay.rl.rollout.config import RolloutConfig
from assay.rl.rollout.groups import Groups
from assay.rl.rollout.now import RolloutNow
from assay.rl.sample import Group, Prompt, PromptText
from assay.scoring.scorer import Scorer

MEAN_S, SPREAD = 1.0, 1.0
PLACES = 16


class Words:
    """A tokenizer of words, for engines that have none."""

    def render(self, prompt: PromptText) -> tuple[int, ...]:
        return self.encode(str(prompt))

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(sum(map(ord, word)) for word in text.split())

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(map(str, ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    config = RolloutConfig(rollout_batch_size=options.prompts, n_samples_per_prompt=options.samples)
    table = Table("judging / rollout", "rollout alone, s", "judging alone, s", "together, s", "together / longer")
    for ratio in (0.1, 0.5, 1.0, 2.0):
        rollout, judging, both = asyncio.run(measured(config, ratio))
        cells = (f"{judging / rollout:.2f}", f"{rollout:.2f}", f"{judging:.2f}", f"{both:.2f}")
        table.add_row(*cells, f"{both / max(rollout, judging):.3f}")
    Console().print(table)


async def measured(config: RolloutConfig, ratio: float) -> tuple[float, float, float]:
    """Seconds of the rollout without rewards, of judging its answers afterwards, and of both at once."""
    plain, rollout = await _rolled(config, None)
    call_s = rollout * ratio * PLACES / (config.rollout_batch_size * config.n_samples_per_prompt)
    reward = await _judge(call_s)
    begin = time.perf_counter()
    await DeferredScoring(_groups(config, reward)).score(plain)
    judging = time.perf_counter() - begin
    judged, both = await _rolled(config, await _judge(call_s))
    assert all(sample.reward is not None for group in judged for sample in group.samples)
    return rollout, judging, both


async def _judge(seconds: float) -> JudgeReward:
    engine = FakeEngine(FakeConfig(latency_s=seconds, max_running=PLACES, default=r"Sound. \boxed{7}"))
    scorer = Scorer(engine)
    await scorer.start()
    return JudgeReward(build_judge("pointwise"), scorer)


def _groups(config: RolloutConfig, reward: JudgeReward | None) -> Groups:
    def say(request: Request, index: int) -> str:
        return f"the answer of seed {request.sampling.seed} is {index}"

    engine = FakeEngine(FakeConfig(latency_s=MEAN_S, latency_spread=SPREAD), say)
    words = Words()
    return Groups(Answering(engine, words, config), config, lambda prompt: words.render(prompt.prompt), reward)


async def _rolled(config: RolloutConfig, reward: JudgeReward | None) -> tuple[tuple[Group, ...], float]:
    groups = _groups(config, reward)

    def prompt(ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=f"question {ordinal}")

    source = RolloutNow(groups, Cursor(rows=config.rollout_batch_size, seed=0), prompt, config)
    begin = time.perf_counter()
    batch = await source.next(0, "0")
    seconds = time.perf_counter() - begin
    await source.close()
    return tuple(batch.groups), seconds


if __name__ == "__main__":
    main()
