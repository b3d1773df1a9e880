"""GRPO with a judge as the reward, on one page: the parts of Assay in a loop that hides nothing.

    python loops/grpo_loop.py --policy PATH --data train.jsonl [--genrm-url http://localhost:8000/genrm]

A step: questions -> 8 answers each -> a judge says what each is worth -> how much better than its siblings was it? ->
one update -> the new weights to the engine. ``assay train`` adds what a long run needs: checkpoints, evaluation, other
placements, other estimators, monitoring.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from assay.core.deadline import Deadline
from assay.core.types import Completion, Request, SamplingParams, TokenPrompt
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.models.losses.config import PolicyLossConfig
from assay.rl.rewards.build import BuiltReward, build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.sample import Sample
from assay.rl.tokens import PolicyTokenizer, load_tokenizer
from assay.training.batch import TrainBatch, TrainSequence
from assay.training.config import TrainerConfig
from assay.training.objective import PolicyObjective
from assay.training.trainer import Trainer

MINUTE = 60.0


def read_questions(path: Path) -> list[tuple[str, str]]:
    """(prompt, gold answer) of every line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [(row["prompt"], row["label"]) for row in rows]


async def answered(
    engine: EmbeddedEngine, ids: tuple[int, ...], args: argparse.Namespace, seed: int
) -> list[Completion]:
    """The engine answers one question several times, with the log-prob of every token that it sampled."""
    sampling = SamplingParams(temperature=1.0, max_new_tokens=args.max_tokens, seed=seed, logprobs=0)
    request = Request(id=str(seed), prompt=TokenPrompt(token_ids=ids), n=args.samples, sampling=sampling)
    return list(await engine.generate(request, Deadline.after(10 * MINUTE)))


async def judged(reward: BuiltReward, prompt: str, label: str, texts: Sequence[str]) -> list[float | None]:
    """What the judge says each answer is worth. None: the judgment failed, which is not a score of 0."""
    samples = [
        Sample(group_index=0, index=index, prompt=prompt, label=label, response=text)
        for index, text in enumerate(texts)
    ]
    return [one.value for one in await reward.score(samples, Deadline.after(10 * MINUTE))]


def advantages(values: Sequence[float | None]) -> list[float | None]:
    """GRPO: how far each reward is above the mean of its group, in standard deviations.

    Failed judgments are in no mean and no loss. A group whose answers are all worth the same teaches nothing.
    """
    valid = [value for value in values if value is not None]
    if len(set(valid)) < 2:
        return [None] * len(values)
    mean, spread = statistics.fmean(valid), statistics.pstdev(valid)
    return [None if value is None else (value - mean) / spread for value in values]


def sequences(
    ids: tuple[int, ...], completions: Sequence[Completion], values: Sequence[float | None]
) -> list[TrainSequence]:
    """What the trainer trains on: the very tokens that the engine sampled."""
    return [
        TrainSequence(
            prompt_ids=ids,
            response_ids=completion.token_ids,
            loss_mask=(True,) * len(completion.token_ids),
            advantage=advantage,
            rollout_logprobs=completion.logprobs,
            weight_version=completion.weight_version,
        )
        for completion, advantage in zip(completions, advantages(values), strict=True)
        if advantage is not None
    ]


async def train(args: argparse.Namespace) -> list[float]:
    """Run the steps; the mean reward of each."""
    questions, draw = read_questions(args.data), random.Random(args.seed)
    trainer = Trainer(TrainerConfig(hf_checkpoint=args.policy, lr=args.lr))
    objective = PolicyObjective(config=PolicyLossConfig(eps_clip=0.2))
    tokenizer: PolicyTokenizer = load_tokenizer(args.policy)
    engine = EmbeddedEngine(EmbeddedConfig(model=args.policy, max_batch=256))
    reward = build_reward(RewardConfig(rm_type=args.rm_type, genrm_url=args.genrm_url))
    means: list[float] = []
    await engine.start()
    await reward.start()
    try:
        for step in range(args.steps):
            await engine.update_tensors(list(trainer.named_tensors()), trainer.weight_version)
            asked = draw.sample(questions, args.prompts)
            prompts = [tokenizer.render(prompt) for prompt, _ in asked]
            rolled = await asyncio.gather(*(answered(engine, ids, args, draw.getrandbits(31)) for ids in prompts))
            texts = [[tokenizer.decode(one.token_ids) for one in group] for group in rolled]
            values = await asyncio.gather(*(judged(reward, *one, said) for one, said in zip(asked, texts, strict=True)))
            batch = [s for group in zip(prompts, rolled, values, strict=True) for s in sequences(*group)]
            update = trainer.step(TrainBatch(sequences=tuple(batch)), objective).updates[-1] if batch else None
            valid = [value for group in values for value in group if value is not None]
            means.append(statistics.fmean(valid) if valid else float("nan"))
            entropy = "no group taught anything" if update is None else f"entropy {update.terms['entropy']:.3f}"
            print(f"step {step + 1}: reward {means[-1]:.3f}, {len(batch)} answers trained on, {entropy}")
    finally:
        await reward.close()
        await engine.close()
    if args.out is not None:
        trainer.export(args.out)
    return means


def flags() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--policy", default="smollm2-135m-instruct", help="the bundled model, a folder or a hub name")
    parser.add_argument("--data", type=Path, required=True, help="JSONL with prompt and label")
    parser.add_argument("--rm-type", default="math", choices=("math", "dapo-genrm"))
    parser.add_argument("--genrm-url", help="the judge service; without it the rule math in this process")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for the trained policy")
    return parser


if __name__ == "__main__":
    asyncio.run(train(flags().parse_args()))
