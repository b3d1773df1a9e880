"""Keys and values of tokens: as slabs while a prompt is computed, in banks while its samples decode.

A slab is a tensor ``[layers, 2, heads, tokens, dim]`` that is never written again, so requests and the prefix tree
share it by reference. A bank is one buffer ``[layers, 2, places, heads, width, dim]`` whose rows lie densely and
left-aligned, so one attention call serves all of them. The widths of banks double; a row that outgrows its bank moves
to the next. So neither a long row beside short ones nor a newcomer costs padding beyond a factor of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_LEAST_WIDTH = 32
"""Places are zeroed as banks fill: with many short rows, wider ones cost more than the model does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvShape:
    """The keys and values of one token, as the model makes them."""

    layers: int
    heads: int
    dim: int
    dtype: torch.dtype
    device: torch.device

    @property
    def token_bytes(self) -> int:
        return 2 * self.layers * self.heads * self.dim * self.dtype.itemsize

    def empty(self, *places: int, tokens: int) -> Tensor:
        """``[layers, 2, *places, heads, tokens, dim]``, not initialised."""
        shape = (self.layers, 2, *places, self.heads, tokens, self.dim)
        return torch.empty(shape, dtype=self.dtype, device=self.device)


def part(slab: Tensor, start: int, stop: int) -> Tensor:
    """A view of some tokens of a slab."""
    return slab[:, :, :, start:stop]


def split_slab(slab: Tensor, at: int) -> tuple[Tensor, Tensor]:
    """Two slabs that own their memory: a view would keep the whole alive when the other half is dropped."""
    return part(slab, 0, at).clone(), part(slab, at, slab.shape[3]).clone()


def cut_slab(slabs: Sequence[Tensor], start: int, stop: int) -> Tensor:
    """The tokens [start, stop) of slabs that follow each other; the slab itself where it is exactly that."""
    pieces: list[Tensor] = []
    at = 0
    for slab in slabs:
        end = at + slab.shape[3]
        if at == start and end == stop and slab.is_contiguous():
            return slab
        if end > start and at < stop:
            pieces.append(part(slab, max(start - at, 0), min(stop, end) - at))
        at = end
    return torch.cat(pieces, dim=3)


class Seat:
    """Where the keys and values of one decoding row lie. ``index`` changes when rows before it leave."""

    __slots__ = ("bank", "index", "length")

    def __init__(self, bank: Bank, index: int, length: int) -> None:
        self.bank = bank
        self.index = index
        self.length = length


class Bank:
    """Rows of at most ``width`` tokens in one buffer; seats 0 … n-1 are taken, the rest is room to grow."""

    def __init__(self, shape: KvShape, width: int) -> None:
        self.width = width
        self.seats: list[Seat] = []
        self._shape = shape
        # Zeros: what lies behind the end of a row is masked, but 0 times NaN is NaN.
        self.buffer = shape.empty(1, tokens=width).zero_()

    def take(self, slabs: Sequence[Tensor], length: int) -> Seat:
        """Copy slabs into the next seat."""
        index = len(self.seats)
        if index == self.buffer.shape[2]:
            larger = self._shape.empty(2 * index, tokens=self.width)
            larger[:, :, :index] = self.buffer
            larger[:, :, index:] = 0
            self.buffer = larger
        at = 0
        for slab in slabs:
            end = at + slab.shape[3]
            self.buffer[:, :, index, :, at:end] = slab
            at = end
        seat = Seat(self, index, length)
        self.seats.append(seat)
        return seat

    def leave(self, seat: Seat, *, wipe: bool) -> None:
        """Free a seat; the last row moves into it. ``wipe``: its content is not finite, and must not stay."""
        if wipe:
            self.buffer[:, :, seat.index] = 0
        last = self.seats.pop()
        if last is not seat:
            self.buffer[:, :, seat.index, :, : last.length] = self.buffer[:, :, last.index, :, : last.length]
            last.index = seat.index
            self.seats[seat.index] = last

    def slab(self, seat: Seat) -> Tensor:
        return self.buffer[:, :, seat.index, :, : seat.length]


class Banks:
    """All decoding rows. A bank without rows is dropped, and its memory with it."""

    def __init__(self, shape: KvShape) -> None:
        self._shape = shape
        self._by_width: dict[int, Bank] = {}

    @property
    def nbytes(self) -> int:
        return sum(bank.buffer.nbytes for bank in self)

    def __iter__(self) -> Iterator[Bank]:
        # A copy: other threads ask for the size while rows come and go.
        return iter(list(self._by_width.values()))

    def seat(self, slabs: Sequence[Tensor]) -> Seat:
        """A seat for a row whose tokens so far are ``slabs``, with room for at least one token more."""
        length = sum(slab.shape[3] for slab in slabs)
        width = _LEAST_WIDTH
        while width < length + 1:
            width *= 2
        if width not in self._by_width:
            self._by_width[width] = Bank(self._shape, width)
        return self._by_width[width].take(slabs, length)

    def leave(self, seat: Seat, *, wipe: bool = False) -> None:
        """Free a seat."""
        seat.bank.leave(seat, wipe=wipe)
        if not seat.bank.seats:
            self._by_width.pop(seat.bank.width, None)

    def make_room(self, seat: Seat) -> Seat:
        """The seat itself where it can take one more token, else a new one in a wider bank."""
        if seat.length < seat.bank.width:
            return seat
        wider = self.seat([seat.bank.slab(seat)])
        self.leave(seat)
        return wider
