"""How weights are cut into buckets. Pure, and the same on every rank."""

from __future__ import annotations

from collections.abc import Sequence


def cut(sizes: Sequence[int], limit: int) -> tuple[range, ...]:
    """Consecutive weights of at most ``limit`` bytes together; one that is larger goes alone.

    Args:
        sizes: bytes of each weight, in the order in which they are sent.
    """
    cuts: list[range] = []
    begin, held = 0, 0
    for place, size in enumerate(sizes):
        if held and held + size > limit:
            cuts.append(range(begin, place))
            begin, held = place, 0
        held += size
    if begin < len(sizes):
        cuts.append(range(begin, len(sizes)))
    return tuple(cuts)
