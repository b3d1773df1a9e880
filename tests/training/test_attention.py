"""All ways of packed attention equal plain attention under a mask written out, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from assay.engines.embedded.attention import Plan
from assay.training.attention import CudaPlan, PaddedPlan, SegmentPlan, plan_for
from assay.training.packing import Segment
from assay.training.varlen import Runs, VarlenPlan

SEGMENTS = [
    Segment(size=4),
    Segment(size=3, after=0),
    Segment(size=1, after=0),
    Segment(size=6),
    Segment(size=2),
    Segment(size=5, after=4),
]
TOTAL, HEADS, KV_HEADS, DIM = 21, 4, 2, 8
CPU = torch.device("cpu")


def written_out(query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None) -> Tensor:
    owner = [i for i, segment in enumerate(SEGMENTS) for _ in range(segment.size)]
    place = [j + (0 if s.after is None else SEGMENTS[s.after].size) for s in SEGMENTS for j in range(s.size)]
    seen = torch.tensor(
        [
            [
                ((owner[k] == owner[q] and place[k] <= place[q]) or owner[k] == SEGMENTS[owner[q]].after)
                and (window is None or place[k] > place[q] - window)
                for k in range(TOTAL)
            ]
            for q in range(TOTAL)
        ]
    )
    key, value = (t.repeat_interleave(HEADS // KV_HEADS, dim=0) for t in (key, value))
    scores = (query @ key.transpose(1, 2)) * scale
    return (scores.masked_fill(~seen, float("-inf")).softmax(-1) @ value).transpose(0, 1)


def run_by_run(query: Tensor, key: Tensor, value: Tensor, runs: Runs, scale: float | None) -> Tensor:
    """What the kernel computes: causal from the lower right, run after run."""
    assert scale is not None
    parts: list[Tensor] = []
    for i in range(len(runs.queries) - 1):
        q = query[runs.queries[i] : runs.queries[i + 1]].transpose(0, 1)
        k, v = (t[runs.keys[i] : runs.keys[i + 1]].transpose(0, 1) for t in (key, value))
        assert q.shape[1] <= runs.longest_query
        assert k.shape[1] <= runs.longest_key
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, dim=0) for t in (k, v))
        seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
        scores = (q @ k.transpose(1, 2) * scale).masked_fill(~seen, float("-inf"))
        parts.append((scores.softmax(-1) @ v).transpose(0, 1))
    return torch.cat(parts)


@pytest.mark.parametrize("window", [None, 3, 100])
@pytest.mark.parametrize("way", ["segments", "padded", "varlen"])
def test_equals_attention_under_a_mask(way: str, window: int | None) -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [
        torch.randn(heads, TOTAL, DIM, generator=generator, dtype=torch.float64, requires_grad=True)
        for heads in (HEADS, KV_HEADS, KV_HEADS)
    ]
    plans: dict[str, Plan] = {
        "segments": SegmentPlan(SEGMENTS),
        "padded": PaddedPlan(SEGMENTS, CPU),
        "varlen": VarlenPlan(SEGMENTS, CPU, run_by_run),
    }
    if way == "varlen" and window == 3:
        pytest.skip("the kernel is not asked for windows")
    plan = plans[way]
    found, expected = plan.attend(0, *tensors, 0.3, window), written_out(*tensors, 0.3, window)
    torch.testing.assert_close(found, expected)
    pull = torch.randn(expected.shape, generator=generator, dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((out * pull).sum(), tensors) for out in (found, expected))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_the_way_depends_on_the_device_and_the_size() -> None:
    cuda = torch.device("cuda")
    assert isinstance(plan_for(SEGMENTS, CPU), PaddedPlan)
    assert isinstance(plan_for([Segment(size=44), Segment(size=32, after=0)], CPU), SegmentPlan)
    assert isinstance(plan_for(SEGMENTS, cuda), CudaPlan)
    assert isinstance(plan_for([Segment(size=9)], cuda), SegmentPlan)
