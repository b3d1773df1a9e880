"""On a GPU: the same log-probs as on the CPU, both ways of attention, and memory that is free after sleep."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from assay.training import attention
from assay.training.config import TrainerConfig
from assay.training.objective import NllObjective, PolicyObjective
from assay.training.packing import Segment
from assay.training.trainer import Trainer

from .conftest import batch, tiny

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


@pytest.mark.parametrize("largest_mask", [0, 1 << 25])
def test_log_probs_and_updates_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch, largest_mask: int) -> None:
    monkeypatch.setattr(attention, "_LARGEST_MASK", largest_mask)
    gpu, cpu = (
        Trainer(TrainerConfig(device=d, dtype="float64", lr=1e-3), model=tiny(dtype=torch.float64))
        for d in ("cuda", "cpu")
    )
    for seed in range(3):
        a, b = gpu.step(batch(seed), PolicyObjective()), cpu.step(batch(seed), PolicyObjective())
        assert a.loss == pytest.approx(b.loss, abs=1e-8)
    for ours, theirs in zip(gpu.logprobs(batch().sequences), cpu.logprobs(batch().sequences), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("largest_mask", [0, 1 << 25])
@pytest.mark.parametrize("settings", [{}, {"lora_rank": 4}, {"gradient_checkpointing": True}])
def test_half_precision_trains(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], largest_mask: int) -> None:
    monkeypatch.setattr(attention, "_LARGEST_MASK", largest_mask)
    trainer = Trainer(TrainerConfig(lr=5e-3, **settings), model=tiny())
    assert trainer.policy.compute == torch.bfloat16
    losses = [trainer.step(batch(masked=0.0), NllObjective()).loss for _ in range(6)]
    assert losses[-1] < losses[0] - 0.1


def test_asleep_its_memory_is_free_and_awake_it_goes_on() -> None:
    before = torch.cuda.memory_allocated()
    trainer, other = (Trainer(TrainerConfig(dtype="float32", lr=1e-3), model=tiny()) for _ in range(2))
    for t in (trainer, other):
        t.step(batch(), PolicyObjective())
    held = torch.cuda.memory_allocated()
    trainer.sleep()
    other.sleep()
    assert torch.cuda.memory_allocated() - before < 0.2 * (held - before)
    assert {v.device.type for _, v in trainer.named_tensors()} == {"cpu"}
    trainer.wake()
    trainer.step(batch(1), PolicyObjective())
    other.wake()
    other.step(batch(1), PolicyObjective())
    for (name, a), (_, b) in zip(trainer.named_tensors(), other.named_tensors(), strict=True):
        torch.testing.assert_close(a, b, msg=name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_kernel_for_many_lengths_attends_as_segment_by_segment(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = [int(n) for n in torch.randint(1, 90, (40,), generator=generator)]
    segments = [
        Segment(size=270),
        *(Segment(size=n, after=0) for n in sizes[:30]),
        *(Segment(size=n) for n in sizes[30:]),
    ]
    total = sum(segment.size for segment in segments)
    whole = [torch.randn(heads, total, 64, generator=generator, dtype=torch.float32) for heads in (9, 3, 3)]
    pull = torch.randn(total, 9, 64, generator=generator).cuda()
    exact = [t.double().cuda().requires_grad_() for t in whole]
    expected = attention.SegmentPlan(segments).attend(0, *exact, 0.125, None)
    wanted = torch.autograd.grad((expected * pull).sum(), exact)
    tensors = [t.to(dtype).cuda().requires_grad_() for t in whole]
    found = attention.plan_for(segments, torch.device("cuda")).attend(0, *tensors, 0.125, None)
    grads = torch.autograd.grad((found * pull.to(dtype)).sum(), tensors)
    loose = 1e-4 if dtype == torch.float32 else 0.05
    for ours, theirs in zip((found, *grads), (expected, *wanted), strict=True):
        error = (ours.double() - theirs).abs().max() / theirs.abs().max()
        assert error < loose
