"""Packing: prompts shared, budgets kept, ranks in step, every token predicted from the right place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.training.batch import TrainSequence
from assay.training.packing import Row, Segment, micro_batches, pack


def sequence(prompt: tuple[int, ...], response: tuple[int, ...], mask: str | None = None) -> TrainSequence:
    on = tuple(c == "x" for c in mask) if mask else (True,) * len(response)
    return TrainSequence(prompt_ids=prompt, response_ids=response, loss_mask=on)


def test_two_samples_share_their_prompt() -> None:
    sequences = [sequence((10, 11, 12), (20, 21, 22)), sequence((10, 11, 12), (30, 31))]
    [[[row]]] = micro_batches(sequences, 100)
    assert row == Row(samples=(0, 1), prompt=3, responses=(2, 1))
    packed = pack([row], sequences, masked=True)
    #                       0   1   2   3   4   5
    assert packed.tokens == [10, 11, 12, 20, 21, 30]
    assert packed.positions == [0, 1, 2, 3, 4, 3]
    assert packed.segments == [Segment(size=3), Segment(size=2, after=0), Segment(size=1, after=0)]
    assert packed.predict == [2, 3, 4, 2, 5]
    assert packed.targets == [20, 21, 22, 30, 31]
    assert packed.samples == [0, 0, 0, 1, 1]
    assert packed.offsets == [0, 1, 2, 0, 1]


def test_a_sample_alone_is_one_segment_and_masked_tokens_are_not_predicted() -> None:
    sequences = [sequence((10,), (20, 21, 22), "x-x"), sequence((11,), (30,))]
    rows = [row for [micro] in micro_batches(sequences, 100) for row in micro]
    packed = pack(rows, sequences, masked=True)
    assert packed.tokens == [10, 20, 21, 11]
    assert packed.positions == [0, 1, 2, 0]
    assert packed.segments == [Segment(size=3), Segment(size=1)]
    assert (packed.predict, packed.targets, packed.offsets) == ([0, 2, 3], [20, 22, 30], [0, 2, 0])
    assert pack(rows, sequences, masked=False).targets == [20, 21, 22, 30]


def test_a_response_of_one_token_adds_none() -> None:
    sequences = [sequence((10, 11), (20,)), sequence((10, 11), (30,))]
    [[rows]] = micro_batches(sequences, 100)
    packed = pack(rows, sequences, masked=True)
    assert packed.tokens == [10, 11]
    assert packed.predict == [1, 1]
    assert packed.targets == [20, 30]


def test_a_group_over_the_budget_is_cut_evenly_and_a_long_sample_goes_alone() -> None:
    sequences = [sequence((1,) * 4, (2,) * 9) for _ in range(4)]
    [micros] = micro_batches(sequences, 20)
    assert [[(row.samples, row.tokens) for row in m] for m in micros] == [[((0, 1), 20)], [((2, 3), 20)]]
    [micros] = micro_batches([*sequences, sequence((1,), (2,) * 90)], 20)
    assert [[row.tokens for row in m] for m in micros] == [[90], [20], [20]]


def test_one_group_is_cut_for_several_ranks() -> None:
    sequences = [sequence((1, 2), (3, 4))] * 3
    shares = micro_batches(sequences, 100, ranks=2)
    assert [[[r.samples for r in m] for m in micros] for micros in shares] == [[[(1, 2)]], [[(0,)]]]


def test_more_ranks_than_samples_leaves_empty_micro_batches() -> None:
    assert micro_batches([sequence((1,), (2,))], 100, ranks=3)[1:] == [[[]], [[]]]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 30), st.lists(st.integers(1, 40), min_size=1, max_size=6)), min_size=1, max_size=6
    ),
    budget=st.integers(1, 120),
    ranks=st.integers(1, 4),
    share=st.booleans(),
)
def test_every_sample_is_packed_once_within_the_budget(
    sizes: list[tuple[int, list[int]]], budget: int, ranks: int, share: bool
) -> None:
    sequences = [
        sequence((group,) * prompt, (9,) * length)
        for group, (prompt, lengths) in enumerate(sizes)
        for length in lengths
    ]
    shares = micro_batches(sequences, budget, ranks=ranks, share=share)
    assert len(shares) == ranks
    assert len({len(micros) for micros in shares}) == 1
    rows = [row for micros in shares for micro in micros for row in micro]
    assert sorted(s for row in rows for s in row.samples) == list(range(len(sequences)))
    for micros in shares:
        for micro in micros:
            total = sum(row.tokens for row in micro)
            assert total <= budget or [len(row.samples) for row in micro] == [1]
            packed = pack(micro, sequences, masked=False)
            assert len(packed.tokens) == total == sum(segment.size for segment in packed.segments)
            bounds = [0]
            for segment in packed.segments:
                bounds.append(bounds[-1] + segment.size)
            # Positions rise by one within a segment and go on from the end of the prompt.
            for segment, (a, b) in zip(packed.segments, pairwise(bounds), strict=True):
                first = 0 if segment.after is None else packed.segments[segment.after].size
                assert packed.positions[a:b] == list(range(first, first + segment.size))
