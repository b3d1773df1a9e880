"""The parts of the policy loss, each with numbers worked by hand."""

import math

import pytest
import torch
from torch import tensor

from assay.models.losses.clip import clipped_surrogate
from assay.models.losses.kl import kl_estimate
from assay.models.losses.ratio import importance_ratio
from assay.models.losses.segments import segment_mean, segment_sum
from assay.models.losses.tis import tis_weights

ALL = torch.ones(3).bool()


def test_sums_and_means_of_samples() -> None:
    sequence, values = tensor([0, 2, 2]), tensor([1.0, 2.0, 4.0])
    assert segment_sum(values, sequence).tolist() == [1, 0, 6]
    assert segment_mean(values, ALL, sequence).tolist() == [1, 0, 3]
    assert segment_mean(values, tensor([True, False, True]), sequence).tolist() == [1, 0, 4]


def test_a_ratio_by_token_and_by_sample() -> None:
    logs, sequence = tensor([2.0, 0.5, 8.0]).log(), tensor([0, 1, 1])
    torch.testing.assert_close(importance_ratio(logs, ALL, sequence, "token"), tensor([2.0, 0.5, 8.0]))
    # The geometric mean of 0.5 and 8 is 2.
    torch.testing.assert_close(importance_ratio(logs, ALL, sequence, "sequence"), tensor([2.0, 2.0, 2.0]))


def test_a_masked_token_is_not_in_the_ratio_of_its_sample() -> None:
    logs, mask = tensor([2.0, 0.5, torch.inf]).log(), tensor([True, True, False])
    found = importance_ratio(logs, mask, tensor([0, 0, 0]), "sequence")
    torch.testing.assert_close(found, tensor([1.0, 1.0, 1.0]))


def test_a_ratio_never_overflows() -> None:
    found = importance_ratio(tensor([500.0, -500.0]), ALL[:2], tensor([0, 1]), "token")
    assert found.isfinite().all()


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.1, 2.0, -2.2, -2.0),
        (1.5, 2.0, -2.56, 0.0),  # held at 1.28
        (0.5, 2.0, -1.0, -2.0),  # the clip never helps a likely good token get rarer
        (0.5, -2.0, 1.6, 0.0),  # held at 0.8
        (1.5, -2.0, 3.0, 2.0),
        (4.0, -2.0, 6.0, 0.0),  # held at 3 by the dual clip
    ],
)
def test_the_clip_by_hand(ratio, advantage, loss, slope) -> None:
    r = tensor([ratio], requires_grad=True)
    found = clipped_surrogate(r, tensor([advantage]), low=0.2, high=0.28, dual=3.0)
    found.loss.sum().backward()
    assert found.loss.item() == pytest.approx(loss)
    assert r.grad is not None
    assert r.grad.item() == pytest.approx(slope)
    held = bool(found.held_low | found.held_high | found.held_dual)
    assert held == (slope == 0)


def test_kl_by_hand() -> None:
    logprobs, reference = tensor([math.log(0.5)]), tensor([math.log(0.25)])
    d = -math.log(2)
    assert kl_estimate(logprobs, reference, "k1").item() == pytest.approx(-d)
    assert kl_estimate(logprobs, reference, "k2").item() == pytest.approx(d * d / 2)
    for kind in ("k3", "low_var_kl"):
        assert kl_estimate(logprobs, reference, kind).item() == pytest.approx(0.5 - d - 1)


@pytest.mark.parametrize("gap", [200.0, -200.0])
def test_low_var_kl_is_held_at_ten_with_a_finite_gradient(gap) -> None:
    logprobs = tensor([0.0], requires_grad=True)
    found = kl_estimate(logprobs, tensor([gap]), "low_var_kl")
    found.sum().backward()
    assert found.item() == 10
    assert logprobs.grad is not None
    assert logprobs.grad.item() == 0


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_the_unbiased_estimates_have_the_kl_as_their_mean(kind) -> None:
    p, q = tensor([0.7, 0.2, 0.1]), tensor([0.2, 0.3, 0.5])
    mean = (p * kl_estimate(p.log(), q.log(), kind)).sum()
    torch.testing.assert_close(mean, (p * (p / q).log()).sum())


def test_tis_truncates_and_is_a_constant() -> None:
    old, rollout = tensor([0.3, 0.9, 0.1]).log().requires_grad_(), tensor([0.2, 0.1, 0.4]).log()
    found = tis_weights(old, rollout, high=2.0, low=0.5)
    torch.testing.assert_close(found.weights, tensor([1.5, 2.0, 0.5]))
    assert found.truncated.tolist() == [False, True, True]
    assert not found.weights.requires_grad
