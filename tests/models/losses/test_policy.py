"""The whole loss: by hand, under any cut of the batch, and with what takes no part in it."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, tensor

from assay.core.errors import InputError
from assay.models.losses.aggregation import token_weights
from assay.models.losses.config import PolicyLossConfig
from assay.models.losses.policy import LossParts, policy_loss

FULL = PolicyLossConfig(
    eps_clip_high=0.28,
    eps_clip_c=3.0,
    use_kl_loss=True,
    kl_loss_coef=0.1,
    kl_loss_type="k3",
    use_tis=True,
    entropy_coef=0.01,
)


def batch(seed: int, lengths: tuple[int, ...]) -> dict[str, Tensor]:
    """Random log-probs of the four kinds, advantages and entropies for samples of these lengths, in float64."""
    random = torch.Generator().manual_seed(seed)
    sequence = torch.repeat_interleave(torch.arange(len(lengths)), tensor(lengths))
    base = -torch.rand(len(sequence), generator=random, dtype=torch.float64) - 0.1

    def near() -> Tensor:
        return base + 0.5 * torch.randn(len(base), generator=random, dtype=torch.float64)

    return {
        "logprobs": near(),
        "old_logprobs": base,
        "advantages": torch.randn(len(lengths), generator=random, dtype=torch.float64)[sequence],
        "sequence": sequence,
        "reference": near(),
        "rollout": near(),
        "entropy": torch.rand(len(base), generator=random, dtype=torch.float64),
    }


def loss_and_gradient(parts: list[dict[str, Tensor]], config: PolicyLossConfig) -> tuple[Tensor, Tensor, LossParts]:
    leaves = [part["logprobs"].clone().requires_grad_() for part in parts]
    found = [policy_loss(**{**p, "logprobs": x}, config=config) for p, x in zip(parts, leaves, strict=True)]
    loss = torch.stack([one.loss for one in found]).sum()
    loss.backward()
    joined = found[0].metrics
    for one in found[1:]:
        joined = joined + one.metrics
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    return loss.detach(), torch.cat(grads), LossParts(loss=loss, metrics=joined)


def test_one_token_by_hand() -> None:
    # r = 1.2 inside the clip; TIS 0.5/0.4 = 1.25; k3 with d = ln(0.3/0.6); the weight is 1/2.
    found = policy_loss(
        tensor([math.log(0.6)]),
        tensor([math.log(0.5)]),
        tensor([2.0]),
        tensor([0.5]),
        tensor([0]),
        reference=tensor([math.log(0.3)]),
        rollout=tensor([math.log(0.4)]),
        entropy=tensor([1.5]),
        config=FULL,
    )
    kl = 0.5 + math.log(2) - 1
    assert found.loss.item() == pytest.approx(0.5 * (-1.2 * 2.0 * 1.25 + 0.1 * kl - 0.01 * 1.5))
    means = found.metrics.means()
    assert means["kl"] == pytest.approx(kl)
    assert means["tis_mean"] == pytest.approx(1.25)
    assert means["ratio_max"] == pytest.approx(1.2)
    assert means["approx_kl"] == pytest.approx(-math.log(1.2))
    assert means["policy_loss"] == pytest.approx(-1.5)
    assert means["rollout_gap"] == pytest.approx(math.log(1.25))
    assert means["clip_fraction"] == 0


def test_the_unbiased_kl_is_weighted_by_the_ratio_and_so_is_its_gradient() -> None:
    # r = 0.6 / 0.5, k3 = 0.3 / 0.6 - ln 0.5 - 1; d(r k)/dx = r k + r (1 - e^d), with x = ln pi.
    logprobs = tensor([math.log(0.6)], requires_grad=True)
    config = PolicyLossConfig(use_kl_loss=True, kl_loss_coef=1.0, kl_loss_type="k3", use_unbiased_kl=True)
    found = policy_loss(
        logprobs,
        tensor([math.log(0.5)]),
        tensor([0.0]),
        tensor([1.0]),
        tensor([0]),
        reference=tensor([math.log(0.3)]),
        config=config,
    )
    found.loss.backward()
    kl = 0.5 + math.log(2) - 1
    assert found.loss.item() == pytest.approx(1.2 * kl)
    assert logprobs.grad is not None
    assert logprobs.grad.item() == pytest.approx(1.2 * kl + 1.2 * 0.5)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    lengths=st.lists(st.integers(1, 5), min_size=2, max_size=6),
    cut=st.integers(1, 5),
    level=st.sampled_from(["token", "sequence"]),
    mode=st.sampled_from(["token_mean", "sequence_mean", "sequence_sum", "constant"]),
)
def test_any_cut_between_samples_gives_the_same_loss_gradient_and_metrics(seed, lengths, cut, level, mode) -> None:
    whole = batch(seed, tuple(lengths))
    mask = torch.rand(len(whole["sequence"]), generator=torch.Generator().manual_seed(seed)) < 0.8
    whole["weights"] = token_weights(mode, mask, whole["sequence"], max_length=7, dtype=torch.float64)
    place = sum(lengths[: min(cut, len(lengths) - 1)])
    parts = [{k: v[s] for k, v in whole.items()} for s in (slice(0, place), slice(place, None))]
    config = replace(FULL, level=level)
    one, its_gradient, single = loss_and_gradient([whole], config)
    sum_of_two, their_gradient, joined = loss_and_gradient(parts, config)
    torch.testing.assert_close(sum_of_two, one)
    torch.testing.assert_close(their_gradient, its_gradient)
    assert joined.metrics.means() == pytest.approx(single.metrics.means())


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_tokens_of_weight_zero_take_no_part_whatever_they_hold(level) -> None:
    whole = batch(3, (2, 3, 2))
    mask = tensor([1, 1, 1, 0, 1, 0, 0]).bool()
    whole["weights"] = token_weights("token_mean", mask, whole["sequence"], dtype=torch.float64)
    kept = {name: values[mask] for name, values in whole.items()}
    spoilt = {
        name: values if name in ("weights", "sequence") else torch.where(mask, values, torch.nan)
        for name, values in whole.items()
    }
    config = replace(FULL, level=level)
    alone, its_gradient, single = loss_and_gradient([kept], config)
    among, gradient, many = loss_and_gradient([spoilt], config)
    torch.testing.assert_close(among, alone)
    torch.testing.assert_close(gradient[mask], its_gradient)
    assert gradient[~mask].tolist() == [0, 0, 0]
    assert many.metrics.means() == pytest.approx(single.metrics.means())


def test_a_part_without_tokens_adds_nothing() -> None:
    whole = batch(1, (2, 2))
    whole["weights"] = token_weights("sequence_mean", torch.ones(4), whole["sequence"], dtype=torch.float64)
    none = {name: values[:0] for name, values in whole.items()}
    one, its_gradient, single = loss_and_gradient([whole], FULL)
    both, gradient, joined = loss_and_gradient([whole, none], FULL)
    assert (one, its_gradient.tolist()) == (both, gradient.tolist())
    assert joined.metrics.means() == single.metrics.means()
    assert loss_and_gradient([none], FULL)[2].metrics.means() == {}


def test_what_was_not_computed_is_not_shown() -> None:
    whole = batch(1, (2, 2))
    whole["weights"] = token_weights("token_mean", torch.ones(4), whole["sequence"], dtype=torch.float64)
    bare = {k: v for k, v in whole.items() if k not in ("reference", "rollout", "entropy")}
    means = policy_loss(**bare, config=PolicyLossConfig()).metrics.means()
    assert not {"kl", "entropy", "tis_mean", "tis_clip_fraction", "rollout_gap"} & set(means)
    # Given but not asked for: shown, and no part of the loss.
    shown = policy_loss(**whole, config=PolicyLossConfig())
    assert {"kl", "entropy", "rollout_gap"} <= set(shown.metrics.means())
    assert shown.loss == policy_loss(**bare, config=PolicyLossConfig()).loss


@pytest.mark.parametrize(
    ("missing", "option"), [("reference", "use_kl_loss"), ("rollout", "use_tis"), ("entropy", "entropy_coef")]
)
def test_what_the_config_needs_must_be_there(missing, option) -> None:
    whole = batch(1, (2, 2))
    whole["weights"] = torch.ones(4, dtype=torch.float64)
    del whole[missing]
    with pytest.raises(InputError, match=option):
        policy_loss(**whole, config=FULL)


def test_the_seeds_kl_coefficient_of_zero_needs_no_reference() -> None:
    whole = batch(1, (2, 2))
    whole["weights"] = torch.ones(4, dtype=torch.float64)
    del whole["reference"]
    policy_loss(**whole, config=replace(FULL, kl_loss_coef=0.0))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"eps_clip": 0.0}, "eps_clip"),
        ({"eps_clip": 20.0}, "eps_clip"),
        ({"eps_clip_high": -0.1}, "eps_clip_high"),
        ({"eps_clip_c": 1.0}, "eps_clip_c"),
        ({"tis_clip": 0.0}, "tis_clip"),
        ({"tis_clip_low": 3.0}, "tis_clip"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(values, named) -> None:
    with pytest.raises(InputError, match=named):
        PolicyLossConfig(**values)
