"""Openings that many rows share, such as a judge's instructions: computed once for all rows of a micro-batch. Pure.

A row's opening goes as its prompt, and the rest of the row as what follows it; only the mask says what is learned. Loss
and gradient are the same. A judge's prompt is mostly instructions, so most of the work of such an update falls away.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Sequence

OFTEN = 0.08
"""An opening is what at least this share of all rows begins with: every update then holds several of them."""
LEAST = 32
"""Tokens; a shorter one is not worth an attention of its own."""

_SIZE = array("i").itemsize


def openings(rows: Sequence[array[int]], *, often: float = OFTEN, least: int = LEAST) -> list[int]:
    """Tokens of each row's opening: the longest one that enough rows have; 0 where there is none."""
    keys = [_sortable(row) for row in rows]
    order = sorted(range(len(rows)), key=keys.__getitem__)
    window = max(2, int(often * len(rows)))
    found = [0] * len(rows)
    # Among rows in order, those with the same opening stand together: what the ends of a window share, all of it does.
    shared = _ends(keys, order, window)
    best: deque[int] = deque()
    for place, row in enumerate(order):
        if place < len(shared):
            while best and shared[best[-1]] <= shared[place]:
                best.pop()
            best.append(place)
        while best and best[0] <= place - window:
            best.popleft()
        longest = shared[best[0]] if best else 0
        found[row] = longest if longest >= least else 0
    _joined(found, keys, order, least)
    return found


def _ends(keys: list[bytes], order: list[int], window: int) -> list[int]:
    """Leading tokens that the two ends of each window share. Mostly they are as many as those of the window before."""
    found: list[int] = []
    last = 0
    for begin, end in zip(order, order[window - 1 :], strict=False):
        one, other = keys[begin], keys[end]
        if not _same(one, other, last) or _same(one, other, last + 1):
            last = _common(one, other)
        found.append(last)
    return found


def _joined(found: list[int], keys: list[bytes], order: list[int], least: int) -> None:
    """Openings that differ by fewer than ``least`` tokens at their ends become one, the shortest of them."""
    begin = 0
    for place in range(1, len(order) + 1):
        if place < len(order):
            before, row = order[place - 1], order[place]
            longer = max(found[before], found[row])
            if found[before] and found[row] and _same(keys[before], keys[row], longer - least + 1):
                continue
        run = order[begin:place]
        shortest = min((found[row] for row in run), default=0)
        for row in run:
            found[row] = shortest
        begin = place


def _sortable(row: array[int]) -> bytes:
    """Bytes that sort as the tokens do, enough of them."""
    copy = row[:]
    if sys.byteorder == "little":
        copy.byteswap()
    return copy.tobytes()


def _same(one: bytes, other: bytes, tokens: int) -> bool:
    """Whether both begin with the same so many tokens."""
    size = tokens * _SIZE
    return len(one) >= size and one[:size] == other[:size]


def _common(one: bytes, other: bytes) -> int:
    """Leading tokens that are the same."""
    low, high = 0, min(len(one), len(other)) // _SIZE
    while low < high:
        middle = (low + high + 1) // 2
        if _same(one, other, middle):
            low = middle
        else:
            high = middle - 1
    return low
