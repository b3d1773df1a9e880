"""Hashes of content, and seeds that follow from content alone.

A seed comes from (what is judged, by which judge, which vote, for what purpose), never from a position, a sample id
or a rank. So equal inputs get equal verdicts, and neither order of arrival nor caching nor concurrency changes one.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

SEED_BITS = 31
"""Every engine takes a non-negative 31-bit seed."""


def canonical(value: Any) -> str:
    """The one JSON text of a JSON-like value: sorted keys, no spaces, no NaN, text as it is.

    Raises:
        ValueError: the value holds NaN or infinity; TypeError: it is not JSON-like.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """128-bit hex hash of a JSON-like value. Lone surrogates are hashed as they are, not refused."""
    data = canonical(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def derive_seed(content: str, judge: str, vote: int, purpose: str, *, base: int = 0) -> int:
    """The seed of one draw.

    Args:
        content: hash of the canonical judged content.
        judge: the judge's identity (name and hash of its prompt, labels and parser).
        vote: index of the vote, from 0.
        purpose: what the randomness is for: ``sample``, ``order``, ``reask-1``, ...
        base: the user's own seed; another base gives an independent draw.
    """
    key = digest([content, judge, vote, purpose, base])
    return int(key, 16) & ((1 << SEED_BITS) - 1)


def derive_order(seed: int, n: int) -> tuple[int, ...]:
    """A permutation of range(n) that follows from the seed alone; uniform over permutations."""
    order = list(range(n))
    random.Random(seed).shuffle(order)
    return tuple(order)
