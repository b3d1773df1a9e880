"""Which replica gets a request: the one that owes the least work, unless another has the prompt's prefix at hand.

Pure: no clock, no task, no engine. What a replica owes (``tokens.work`` of the requests it has not answered) falls as
fast as it works, so a slow one gets less by itself.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from .tokens import CHUNK_TOKENS


class Router:
    """Remembers which replica has computed which prefix, within ``entries``, and chooses.

    ``affinity``: how much work owed, in reply tokens, one saved token of prompt is worth.
    """

    def __init__(self, *, affinity: float, entries: int, seed: int) -> None:
        self._affinity = affinity
        self._entries = entries
        self._random = random.Random(seed)
        self._holders: OrderedDict[int, set[int]] = OrderedDict()

    def choose(self, keys: Sequence[int], owed: Mapping[int, float]) -> int:
        """A replica out of ``owed`` (replica -> work it owes), which must not be empty.

        Among the replicas that hold the longest known prefix, the one that owes least, if it owes at most
        ``affinity`` x (tokens of that prefix) more than the least of all. Else the same with the next shorter prefix.
        """
        least = min(owed.values())
        for length in range(len(keys), 0, -1):
            holders = {r: owed[r] for r in self._holders.get(keys[length - 1], ()) if r in owed}
            if holders and min(holders.values()) - least <= self._affinity * length * CHUNK_TOKENS:
                return self._lightest(holders)
        return self._lightest(owed)

    def cached_tokens(self, keys: Sequence[int], replica: int) -> int:
        """Tokens of the longest prefix that the replica is thought to hold."""
        for length in range(len(keys), 0, -1):
            if replica in self._holders.get(keys[length - 1], ()):
                return length * CHUNK_TOKENS
        return 0

    def sent(self, keys: Sequence[int], replica: int) -> None:
        """The replica now computes this prompt, and holds its prefixes from here on."""
        for key in keys:
            self._holders.setdefault(key, set()).add(replica)
            self._holders.move_to_end(key)
        while len(self._holders) > self._entries:
            self._holders.popitem(last=False)

    def forget(self, replica: int) -> None:
        """The replica's cache is empty: it died, slept or took other weights."""
        for key in [key for key, holders in self._holders.items() if replica in holders]:
            self._holders[key].discard(replica)
            if not self._holders[key]:
                del self._holders[key]

    def _lightest(self, owed: Mapping[int, float]) -> int:
        least = min(owed.values())
        lightest = sorted(replica for replica, tokens in owed.items() if tokens == least)
        return lightest[0] if len(lightest) == 1 else self._random.choice(lightest)
