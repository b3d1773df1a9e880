from __future__ import annotations

import torch

from assay.engines.embedded.kv import Banks, KvShape, Seat, cut_slab, split_slab

SHAPE = KvShape(layers=1, heads=1, dim=1, dtype=torch.float32, device=torch.device("cpu"))


def slab(*values: float) -> torch.Tensor:
    """One layer, one head, one dimension: keys and values are both ``values``."""
    return torch.tensor([[[[[v] for v in values]], [[[v] for v in values]]]]).view(1, 2, 1, len(values), 1)


def held(seat: Seat) -> list[float]:
    return seat.bank.slab(seat)[0, 0, 0, :, 0].tolist()


def test_bytes_per_token() -> None:
    assert SHAPE.token_bytes == 8
    assert SHAPE.empty(tokens=3).nbytes == 24


def test_rows_keep_their_content_while_others_come_and_go() -> None:
    banks = Banks(SHAPE)
    seats = [banks.seat([slab(i), slab(i + 10, i + 20)]) for i in range(5)]
    banks.leave(seats[1])
    banks.leave(seats[4])
    assert [held(seats[i]) for i in (0, 2, 3)] == [[0, 10, 20], [2, 12, 22], [3, 13, 23]]
    (bank,) = banks
    assert [seat.index for seat in bank.seats] == list(range(3))


def test_a_row_that_outgrows_its_bank_moves_to_a_wider_one() -> None:
    banks = Banks(SHAPE)
    seat = banks.seat([slab(*range(127))])
    other = banks.seat([slab(5)])
    assert banks.make_room(seat) is seat
    seat.bank.buffer[:, :, seat.index, :, 127] = 127
    seat.length = 128
    moved = banks.make_room(seat)
    assert moved.bank.width == 256
    assert held(moved) == list(range(128))
    assert held(other) == [5]


def test_memory_goes_with_the_last_row() -> None:
    banks = Banks(SHAPE)
    seat = banks.seat([slab(1)])
    assert banks.nbytes == 8 * 32
    banks.leave(seat)
    assert banks.nbytes == 0


def test_cutting_out_of_slabs_that_follow_each_other() -> None:
    slabs = [slab(0, 1), slab(2, 3, 4), slab(5)]
    assert cut_slab(slabs, 1, 4)[0, 0, 0, :, 0].tolist() == [1, 2, 3]
    assert cut_slab(slabs, 2, 5) is slabs[1]


def test_split_halves_own_their_memory() -> None:
    head, tail = split_slab(slab(1, 2, 3), 1)
    assert head[0, 0, 0, :, 0].tolist() == [1]
    assert tail[0, 1, 0, :, 0].tolist() == [2, 3]
    assert head.untyped_storage().nbytes() == head.nbytes
