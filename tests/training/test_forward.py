"""Packed passes compute what separate padded ones do: log-probs, entropies and gradients."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from assay.training.batch import TrainSequence
from assay.training.config import TrainerConfig
from assay.training.model import MicroBatch
from assay.training.objective import NllObjective
from assay.training.packing import micro_batches
from assay.training.policy import load_policy
from assay.training.trainer import Trainer

from .conftest import batch, sample, tiny

CPU = torch.device("cpu")


def padded_logprobs(model: Any, sequences: list[TrainSequence]) -> list[Tensor]:
    """By the model's own attention, one padded batch, left to transformers."""
    ids = [[*s.prompt_ids, *s.response_ids] for s in sequences]
    width = max(map(len, ids))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
    logprobs = model(input_ids=tokens, attention_mask=mask, use_cache=False).logits.log_softmax(-1)
    found = logprobs[:, :-1].gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
    return [found[i, len(s.prompt_ids) - 1 : len(ids[i]) - 1] for i, s in enumerate(sequences)]


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("budget", [8, 40, 4096])
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_log_probs_equal_those_of_padded_passes(kind: str, budget: int, share: bool) -> None:
    sequences = list(batch().sequences)
    config = TrainerConfig(max_tokens_per_micro_batch=budget, share_prompts=share)
    found = Trainer(config, model=tiny(kind)).logprobs(sequences)
    with torch.no_grad():
        expected = padded_logprobs(tiny(kind), sequences)
    assert [len(f) for f in found] == [len(s.response_ids) for s in sequences]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.tensor(ours), theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_gradients_equal_those_of_padded_passes(kind: str, checkpointing: bool) -> None:
    sequences = list(batch(1).sequences)
    config = TrainerConfig(max_tokens_per_micro_batch=40, gradient_checkpointing=checkpointing)
    trainer = Trainer(config, model=tiny(kind))
    laid = trainer._passes.laid_out(sequences, NllObjective())
    trainer._passes.forward_backward(laid, NllObjective(), _clock())
    own = tiny(kind)
    kept = [lp[torch.tensor(s.loss_mask)] for lp, s in zip(padded_logprobs(own, sequences), sequences, strict=True)]
    (-torch.cat(kept).mean()).backward()
    theirs = dict(own.named_parameters())
    assert len(theirs) == len(dict(trainer.policy.lm.named_parameters()))
    for name, p in trainer.policy.lm.named_parameters():
        torch.testing.assert_close(p.grad, theirs[name].grad, atol=1e-5, rtol=1e-4)


def test_the_temperature_divides_the_logits() -> None:
    sequences = list(batch().sequences)
    model = tiny()
    found = Trainer(TrainerConfig(temperature=0.7), model=tiny()).logprobs(sequences)
    with torch.no_grad():
        model.lm_head.weight.div_(1)
        model.get_output_embeddings().register_forward_hook(lambda _m, _i, out: out / 0.7)
        expected = padded_logprobs(model, sequences)
    torch.testing.assert_close(torch.tensor(found[3]), expected[3], atol=1e-5, rtol=0)


def test_entropy_is_that_of_the_predicted_distribution() -> None:
    policy = load_policy(TrainerConfig(), model=tiny())
    sequences = [sample(random.Random(3), (5, 6, 7), 4)]
    [[rows]] = micro_batches(sequences, 100)
    with torch.no_grad():
        _, entropy = policy.model(MicroBatch.of(rows, sequences, CPU, masked=False))
        ids = torch.tensor([[*sequences[0].prompt_ids, *sequences[0].response_ids]])
        logits = tiny()(input_ids=ids).logits[0, 2:-1]
    torch.testing.assert_close(entropy, torch.distributions.Categorical(logits=logits).entropy(), atol=1e-5, rtol=0)


def test_half_precision_computes_in_bfloat16_over_float32_weights() -> None:
    trainer = Trainer(TrainerConfig(dtype="bfloat16", lr=1e-6), model=tiny())
    assert {p.dtype for p in trainer.policy.trained.values()} == {torch.float32}
    before = {name: p.clone() for name, p in trainer.policy.trained.items()}
    exact = Trainer(TrainerConfig(dtype="float32"), model=tiny()).logprobs(batch().sequences)
    ours = trainer.logprobs(batch().sequences)
    gaps = [abs(a - b) for x, y in zip(ours, exact, strict=True) for a, b in zip(x, y, strict=True)]
    assert 0 < max(gaps) < 0.2
    trainer.step(batch(), NllObjective())
    # Updates of 1e-6 would vanish in bfloat16 weights.
    assert all(not torch.equal(before[name], p) for name, p in trainer.policy.trained.items())


def _clock() -> Any:
    from assay.training.clock import Clock

    return Clock(CPU)
