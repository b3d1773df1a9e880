"""Which of the waiting prompts are computed together. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def pick(lengths: Sequence[int], *, rows: int, tokens: int) -> list[int]:
    """Places of the next batch, in ascending order: the first prompt always, then those nearest to it in length.

    At most ``rows`` of them, and at most ``tokens`` places, padding to the longest one included. Since the first one is
    always among them, nobody waits for ever.
    """
    if not lengths:
        return []
    nearest = sorted(range(1, len(lengths)), key=lambda place: (abs(lengths[place] - lengths[0]), place))
    taken, longest = [0], lengths[0]
    for place in nearest:
        if len(taken) == rows:
            break
        grown = max(longest, lengths[place])
        if grown * (len(taken) + 1) <= tokens:
            taken.append(place)
            longest = grown
    return sorted(taken)
