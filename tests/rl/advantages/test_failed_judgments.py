"""A judge that fails one call in five changes the gradient by the missing samples and by nothing else.

A tiny policy (embedding and output layer), a batch of 6 groups of 5 samples. The gradient that goes through this
package, the weights and the packed loss is compared with one written out for the valid samples alone.
"""

import random

import pytest
import torch
from torch import Tensor

from assay.models.logprobs import token_logprobs
from assay.models.losses.aggregation import token_weights
from assay.models.losses.config import PolicyLossConfig
from assay.models.losses.policy import policy_loss
from assay.rl.advantages.estimators import ESTIMATORS, AdvantageConfig, estimate

GROUPS, SIZE, VOCABULARY, LIMIT = 6, 5, 13, 8
Rewards = list[list[float | None]]


def scene() -> tuple[Rewards, list[list[list[int]]]]:
    """Rewards, of which the judge failed to give 6 of 30, and the tokens of every sample."""
    draw = random.Random(5)
    rewards: Rewards = [[float(draw.random() < 0.5) for _ in range(SIZE)] for _ in range(GROUPS)]
    for place in draw.sample(range(GROUPS * SIZE), GROUPS * SIZE // 5):
        rewards[place // SIZE][place % SIZE] = None
    tokens = [
        [[draw.randrange(VOCABULARY) for _ in range(draw.randint(2, LIMIT))] for _ in range(SIZE)]
        for _ in range(GROUPS)
    ]
    return rewards, tokens


def policy() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    embedding = torch.randn(VOCABULARY, 6, generator=draw, dtype=torch.float64, requires_grad=True)
    return embedding, torch.randn(VOCABULARY, 6, generator=draw, dtype=torch.float64, requires_grad=True)


def through_the_package(rewards: Rewards, tokens: list[list[list[int]]], name: str) -> list[Tensor]:
    embedding, head = policy()
    lengths = [[len(sample) - 1 for sample in group] for group in tokens]
    groups = estimate(rewards, lengths, AdvantageConfig(estimator=name))
    samples = [sample for group in tokens for sample in group]
    flat = [advantage for group in groups for advantage in group.advantages]
    counts = torch.tensor([len(sample) - 1 for sample in samples])
    sequence = torch.repeat_interleave(torch.arange(len(samples)), counts)
    mask = torch.tensor([advantage is not None for advantage in flat])[sequence]
    # What stands in for an advantage that is not there must not matter, so it is the worst there is.
    advantages = torch.tensor([torch.nan if a is None else a for a in flat], dtype=torch.float64)[sequence]
    inputs = torch.tensor([token for sample in samples for token in sample[:-1]])
    targets = torch.tensor([token for sample in samples for token in sample[1:]])
    logprobs = token_logprobs(embedding[inputs] @ head.T, targets, chunk=16).logprobs
    estimator = ESTIMATORS[name]
    weights = token_weights(estimator.aggregation, mask, sequence, max_length=LIMIT, dtype=torch.float64)
    config = PolicyLossConfig(level=estimator.level)
    found = policy_loss(logprobs, logprobs.detach(), advantages, weights, sequence, config=config)
    return list(torch.autograd.grad(found.loss, (embedding, head)))


def written_out(rewards: Rewards, tokens: list[list[list[int]]]) -> list[Tensor]:
    """GRPO's gradient, sum_i A_i / |o_i| * d ln pi(o_i) over the valid samples, divided by their number."""
    embedding, head = policy()
    loss, samples = torch.zeros((), dtype=torch.float64), 0
    for group, answers in zip(rewards, tokens, strict=True):
        valid = [(reward, ids) for reward, ids in zip(group, answers, strict=True) if reward is not None]
        if len(valid) < 2:
            continue
        values = torch.tensor([reward for reward, _ in valid], dtype=torch.float64)
        for advantage, (_, ids) in zip(
            (values - values.mean()) / (values.std(correction=0) + 1e-6), valid, strict=True
        ):
            logs = (embedding[ids[:-1]] @ head.T).log_softmax(-1)
            loss = loss - advantage * logs[range(len(ids) - 1), ids[1:]].mean()
            samples += 1
    return list(torch.autograd.grad(loss / samples, (embedding, head)))


def without_failures(rewards: Rewards, tokens: list[list[list[int]]]) -> tuple[Rewards, list[list[list[int]]]]:
    pairs = [
        [(reward, ids) for reward, ids in zip(group, answers, strict=True) if reward is not None]
        for group, answers in zip(rewards, tokens, strict=True)
    ]
    return [[reward for reward, _ in group] for group in pairs], [[ids for _, ids in group] for group in pairs]


def test_the_scene_has_what_it_should() -> None:
    rewards, _ = scene()
    assert sum(reward is None for group in rewards for reward in group) == 6
    assert any(reward is None for group in rewards for reward in group if len(set(group)) == 3)


def test_the_gradient_is_the_exact_one_over_the_valid_samples() -> None:
    rewards, tokens = scene()
    for found, wanted in zip(through_the_package(rewards, tokens, "grpo"), written_out(rewards, tokens), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_it_is_the_gradient_of_a_batch_that_never_had_the_failed_samples(name) -> None:
    rewards, tokens = scene()
    with_failures = through_the_package(rewards, tokens, name)
    valid_alone = through_the_package(*without_failures(rewards, tokens), name)
    for found, wanted in zip(with_failures, valid_alone, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-12, rtol=1e-9)


def test_a_failure_scored_zero_would_have_changed_it() -> None:
    rewards, tokens = scene()
    zeroed: Rewards = [[0.0 if reward is None else reward for reward in group] for group in rewards]
    honest, biased = through_the_package(rewards, tokens, "grpo"), through_the_package(zeroed, tokens, "grpo")
    assert float((honest[0] - biased[0]).norm() / honest[0].norm()) > 0.1
