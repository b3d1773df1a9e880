"""Losses of heads against cases worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from assay.models.heads import binary, bradley_terry, head_metrics

LN2 = math.log(2)


def test_bradley_terry_by_hand() -> None:
    # Leads of 0, ln 3 and -ln 3: sigmoids of 1/2, 3/4 and 1/4.
    chosen = torch.tensor([0.5, math.log(3), 0.0], dtype=torch.float64)
    rejected = torch.tensor([0.5, 0.0, math.log(3)], dtype=torch.float64)
    found = bradley_terry(chosen, rejected)
    assert found.tolist() == pytest.approx([LN2, math.log(4 / 3), math.log(4)], abs=1e-12)


def test_a_margin_is_taken_off_the_lead_and_the_centre_is_their_sum() -> None:
    chosen, rejected = torch.tensor([2.0]), torch.tensor([1.0])
    # Lead 1, margin 1: ln 2. Centre: 0.1 * 3^2.
    assert bradley_terry(chosen, rejected, margin=torch.tensor([1.0])).item() == pytest.approx(LN2, abs=1e-6)
    assert bradley_terry(chosen, rejected, margin=torch.tensor([1.0]), center=0.1).item() == pytest.approx(
        LN2 + 0.9, abs=1e-6
    )


def test_binary_by_hand() -> None:
    logits = torch.tensor([math.log(3), math.log(3), 0.0, -800.0, 800.0], dtype=torch.float64)
    labels = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    found = binary(logits, labels)
    assert found.tolist() == pytest.approx([math.log(4 / 3), math.log(4), LN2, 800.0, 800.0], abs=1e-12)


def test_pairrm_is_binary_on_whether_the_first_is_better() -> None:
    """S = 2 and the first is better: -ln s(2); the second: -ln s(-2)."""
    score = torch.tensor([2.0, 2.0], dtype=torch.float64)
    found = binary(score, torch.tensor([1.0, 0.0], dtype=torch.float64))
    assert found.tolist() == pytest.approx([math.log1p(math.exp(-2)), math.log1p(math.exp(2))], abs=1e-12)


def test_gradients_are_those_of_the_sigmoid() -> None:
    chosen = torch.tensor([1.0], requires_grad=True, dtype=torch.float64)
    rejected = torch.tensor([0.0], requires_grad=True, dtype=torch.float64)
    bradley_terry(chosen, rejected).sum().backward()
    slope = -1 / (1 + math.e)
    assert chosen.grad is not None
    assert rejected.grad is not None
    assert (chosen.grad.item(), rejected.grad.item()) == pytest.approx((slope, -slope), abs=1e-12)


def test_metrics_count_only_what_counts_and_a_tie_is_half() -> None:
    leads = torch.tensor([1.0, -2.0, 0.0, 5.0])
    logits = torch.tensor([1.0, 0.0, 0.0, 2.0, 3.0, 3.0, 9.0, 4.0])
    found = head_metrics(leads, logits, torch.tensor([True, True, True, False])).means()
    assert found == pytest.approx({"accuracy": 0.5, "lead": -1 / 3, "logit": 9 / 6})
