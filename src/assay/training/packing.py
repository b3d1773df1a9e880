"""Packing, pure: which samples share a prompt, which rows make a micro-batch, and where every token goes.

A row is a prompt, once, and the responses that continue it, one after the other. The last token of a response is no
input: nothing that the loss is over follows it. No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, pairwise

from .batch import TrainSequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A prompt and some of the samples (indices into the batch) that continue it."""

    samples: tuple[int, ...]
    prompt: int
    """Tokens of the prompt."""
    responses: tuple[int, ...]
    """Input tokens of each response: one less than it has."""

    @property
    def tokens(self) -> int:
        return self.prompt + sum(self.responses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Tokens that follow each other. They see themselves, causally, and the whole of segment ``after``."""

    size: int
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One micro-batch as flat lists. ``T`` packed tokens, ``R`` predicted tokens."""

    tokens: list[int]
    """``[T]``"""
    positions: list[int]
    """``[T]``, counted from the start of the token's own prompt."""
    segments: list[Segment]
    """In the order of the tokens."""
    predict: list[int]
    """``[R]``: the packed token whose state predicts."""
    targets: list[int]
    """``[R]``: the token that is predicted."""
    samples: list[int]
    """``[R]``: the sample that the predicted token belongs to."""
    offsets: list[int]
    """``[R]``: its place in the response."""


def micro_batches(
    sequences: Sequence[TrainSequence],
    budget: int,
    *,
    ranks: int = 1,
    share: bool = True,
    only: Sequence[int] | None = None,
    whole: bool = False,
) -> list[list[list[Row]]]:
    """The rows of each micro-batch of each rank; as many micro-batches for every rank (some may be empty).

    Args:
        sequences: the samples of one update.
        budget: most packed tokens in a micro-batch. A sample that is longer stands alone.
        ranks: how many processes share the work.
        share: whether samples with the same prompt share it.
        only: the samples to pass, where not all.
        whole: each group, whose samples share their prompt, is one row, whatever its size.
    """
    samples = range(len(sequences)) if only is None else only
    if whole:
        rows = _groups(sequences, samples)
    else:
        rows = _rows(sequences, samples, budget, share)
        while len(rows) < ranks and (halves := _halved(rows)) is not None:
            rows = halves
    rows.sort(key=lambda row: (-row.tokens, row.samples))
    count = ranks * max(1, -(-sum(row.tokens for row in rows) // (budget * ranks)))
    while (bins := _spread(rows, count, budget)) is None:
        count += ranks
    # Micro-batches that run at the same time on different ranks are neighbours in size.
    bins.sort(key=lambda rows: -sum(row.tokens for row in rows))
    rounds = max(1, -(-sum(map(bool, bins)) // ranks))
    return [bins[rank : rounds * ranks : ranks] for rank in range(ranks)]


def pack(rows: Sequence[Row], sequences: Sequence[TrainSequence], *, masked: bool) -> Packed:
    """Lay out the rows. ``masked``: predict only tokens whose loss mask is set, else every response token."""
    packed = Packed(tokens=[], positions=[], segments=[], predict=[], targets=[], samples=[], offsets=[])
    for row in rows:
        prompt = sequences[row.samples[0]].prompt_ids
        alone = len(row.samples) == 1
        first = len(packed.tokens)
        parent = len(packed.segments)
        packed.tokens.extend(prompt)
        packed.positions.extend(range(len(prompt)))
        packed.segments.append(Segment(size=len(prompt) + (row.responses[0] if alone else 0)))
        for sample, size in zip(row.samples, row.responses, strict=True):
            sequence = sequences[sample]
            start = len(packed.tokens)
            packed.tokens.extend(sequence.response_ids[:size])
            packed.positions.extend(range(len(prompt), len(prompt) + size))
            if size and not alone:
                packed.segments.append(Segment(size=size, after=parent))
            places = range(len(sequence.response_ids))
            wanted = list(compress(places, sequence.loss_mask) if masked else places)
            packed.predict.extend(start + i - 1 if i else first + len(prompt) - 1 for i in wanted)
            packed.targets.extend(sequence.response_ids[i] for i in wanted)
            packed.samples.extend([sample] * len(wanted))
            packed.offsets.extend(wanted)
    return packed


def _groups(sequences: Sequence[TrainSequence], samples: Sequence[int]) -> list[Row]:
    """A row for each group, in the order of its samples. Raises ValueError: a group has two prompts."""
    groups: dict[int, list[int]] = {}
    for index in samples:
        groups.setdefault(sequences[index].group, []).append(index)
    for group, members in groups.items():
        if any(sequences[i].prompt_ids != sequences[members[0]].prompt_ids for i in members):
            raise ValueError(f"the samples of group {group} do not share their prompt, so they cannot be one row")
    return [_row(members, sequences) for members in groups.values()]


def _rows(sequences: Sequence[TrainSequence], samples: Sequence[int], budget: int, share: bool) -> list[Row]:
    """Samples by prompt; a group over the budget becomes several rows of about equal size."""
    groups: dict[object, list[int]] = {}
    for index in samples:
        groups.setdefault(sequences[index].prompt_ids if share else index, []).append(index)
    return [row for group in groups.values() for row in _cut(group, sequences, budget)]


def _cut(samples: list[int], sequences: Sequence[TrainSequence], budget: int) -> list[Row]:
    prompt = len(sequences[samples[0]].prompt_ids)
    total = sum(_inputs(sequences[i]) for i in samples)
    parts = min(len(samples), max(1, -(-total // max(1, budget - prompt))))
    while True:
        cuts = [len(samples) * i // parts for i in range(parts + 1)]
        rows = [_row(samples[a:b], sequences) for a, b in pairwise(cuts)]
        if parts == len(samples) or all(row.tokens <= budget for row in rows):
            return rows
        parts += 1


def _row(samples: Sequence[int], sequences: Sequence[TrainSequence]) -> Row:
    return Row(
        samples=tuple(samples),
        prompt=len(sequences[samples[0]].prompt_ids),
        responses=tuple(_inputs(sequences[i]) for i in samples),
    )


def _inputs(sequence: TrainSequence) -> int:
    return len(sequence.response_ids) - 1


def _halved(rows: list[Row]) -> list[Row] | None:
    """The rows with the largest divisible one cut in two; None where each holds one sample."""
    divisible = [row for row in rows if len(row.samples) > 1]
    if not divisible:
        return None
    largest = max(divisible, key=lambda row: row.tokens)
    half = len(largest.samples) // 2
    parts = [
        Row(samples=largest.samples[cut], prompt=largest.prompt, responses=largest.responses[cut])
        for cut in (slice(half), slice(half, None))
    ]
    return [row for row in rows if row is not largest] + parts


def _spread(rows: Sequence[Row], count: int, budget: int) -> list[list[Row]] | None:
    """Rows, largest first, each into the emptiest of ``count`` bins; None where a bin overflows."""
    bins: list[list[Row]] = [[] for _ in range(count)]
    loads = [0] * count
    for row in rows:
        emptiest = loads.index(min(loads))
        if bins[emptiest] and loads[emptiest] + row.tokens > budget:
            return None
        bins[emptiest].append(row)
        loads[emptiest] += row.tokens
    return bins
