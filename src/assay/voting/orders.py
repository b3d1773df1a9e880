"""In which order the candidates of an item stand in each vote. Pure: an order follows from the seed and the vote.

``shuffle``: a fresh order for every vote, as in DeepSeek-GRM. ``balanced``: over any n successive votes each candidate
stands once in each place, so that position bias cancels; only n prompts differ, so that votes share their prefixes.
``fixed``: the item's own order. Does not own: the seeds (``draws``).
"""

from __future__ import annotations

from assay.core.seeds import derive_order

from .plan import Orders


def order_of(kind: Orders, n: int, vote: int, *, item_seed: int, vote_seed: int) -> tuple[int, ...]:
    """``order[place]`` = index of the candidate shown there, for one vote.

    Args:
        item_seed: the same for all votes of a judgment. vote_seed: this vote's own.
    """
    match kind:
        case "fixed":
            return tuple(range(n))
        case "shuffle":
            return derive_order(vote_seed, n)
        case "balanced":
            base = derive_order(item_seed, n)
            return tuple(base[place] for place in balanced_row(n, vote % n))


def balanced_row(n: int, row: int) -> tuple[int, ...]:
    """Row ``row`` of an n x n Latin square; for even n also each ordered pair of neighbours occurs once (Williams).

    The first row zigzags (0, n-1, 1, n-2, ...), the others are its shifts.
    """
    zigzag = [place // 2 if place % 2 == 0 else n - 1 - place // 2 for place in range(n)]
    return tuple((place + row) % n for place in zigzag)
