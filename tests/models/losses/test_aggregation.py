"""Weights of tokens, worked by hand: samples of 2, 1 and 3 tokens, the second with its judgment failed."""

import pytest
import torch

from assay.core.errors import InputError
from assay.models.losses.aggregation import Totals, count, token_weights

SEQUENCE = torch.tensor([0, 0, 1, 2, 2, 2])
MASK = torch.tensor([1, 1, 0, 1, 0, 1]).bool()


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("token_mean", [1 / 4, 1 / 4, 0, 1 / 4, 0, 1 / 4]),
        ("sequence_mean", [1 / 4, 1 / 4, 0, 1 / 4, 0, 1 / 4]),
        ("sequence_sum", [1 / 2, 1 / 2, 0, 1 / 2, 0, 1 / 2]),
        ("constant", [1 / 20, 1 / 20, 0, 1 / 20, 0, 1 / 20]),
    ],
)
def test_weights_by_hand(mode, wanted) -> None:
    found = token_weights(mode, MASK, SEQUENCE, max_length=10)
    torch.testing.assert_close(found, torch.tensor(wanted))


def test_samples_of_unequal_length_weigh_the_same_in_the_sequence_mean() -> None:
    found = token_weights("sequence_mean", torch.ones(6), SEQUENCE)
    torch.testing.assert_close(found, torch.tensor([1 / 6, 1 / 6, 1 / 3, 1 / 9, 1 / 9, 1 / 9]))


def test_a_sample_without_trained_tokens_is_in_no_total_unless_said_so() -> None:
    assert count(MASK, SEQUENCE) == Totals(tokens=4, samples=2)
    diluted = token_weights("sequence_sum", MASK, SEQUENCE, totals=Totals(tokens=4, samples=3))
    assert float(diluted[0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("mode", ["token_mean", "sequence_mean", "sequence_sum", "constant"])
def test_parts_of_a_batch_get_the_weights_of_the_whole(mode) -> None:
    parts = [slice(0, 3), slice(3, 6)]
    totals = sum((count(MASK[p], SEQUENCE[p]) for p in parts), start=Totals(tokens=0, samples=0))
    cut = [token_weights(mode, MASK[p], SEQUENCE[p], totals=totals, max_length=8) for p in parts]
    torch.testing.assert_close(torch.cat(cut), token_weights(mode, MASK, SEQUENCE, max_length=8))


def test_a_batch_with_nothing_to_train_weighs_nothing() -> None:
    for mode in ("token_mean", "sequence_mean", "sequence_sum"):
        assert token_weights(mode, torch.zeros(6), SEQUENCE).tolist() == [0] * 6
    assert token_weights("token_mean", torch.zeros(0), SEQUENCE[:0]).tolist() == []


@pytest.mark.parametrize("length", [None, 0])
def test_a_constant_must_be_given(length) -> None:
    with pytest.raises(InputError, match="max_length"):
        token_weights("constant", MASK, SEQUENCE, max_length=length)
