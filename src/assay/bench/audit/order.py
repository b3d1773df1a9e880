"""Order swap: does the verdict stay when the same answers stand the other way round?"""

from __future__ import annotations

from collections.abc import Sequence

from assay.judges.probe_readings import survives_swap

from .figure import Figure, Section, measured, share
from .looks import Look, Seen

UNSTEADY = 0.2
"""More verdicts than this share that change with the order are a finding."""


def order_section(items: Sequence[Seen], *, alone: bool) -> Section:
    """How many verdicts change, which place gains by it, and how often each order is right.

    Args:
        alone: the judge looks at one answer at a time, so that there is no order.
    """
    title, about = "Order", "The same answers, asked about in both orders. The verdict should stay."
    if alone:
        reason = "the judge looks at one answer at a time: there is no order to depend on"
        return Section(name="order", title=title, about=about, absent=reason)
    pairs = [(item.base, other) for item in items if (other := item.of("order", "swapped")) is not None]
    if not pairs:
        return Section(
            name="order", title=title, about=about, absent="no item with several answers was asked about in both orders"
        )
    read = [(one, other) for one, other in pairs if one.scores is not None and other.scores is not None]
    failed = len(pairs) - len(read)
    changed = share("verdict changes with the order", [not _stays(one, other) for one, other in read], failed=failed)
    first = share("of these, for the first place", _for_first(read), blind=0.5)
    ties = share("no winner in either order", [one.winner is None and other.winner is None for one, other in read])
    figures = [changed, first, ties, *_right(pairs)]
    return Section(
        name="order", title=title, about=about, figures=measured(*figures), findings=_findings(changed, first)
    )


def _stays(one: Look, other: Look) -> bool:
    return survives_swap(one.scores or (), other.scores or ())


def _for_first(read: Sequence[tuple[Look, Look]]) -> list[bool]:
    """Over pairs whose winner stands in the same place both times: whether that is the first place."""
    return [
        one.winner == 0
        for one, other in read
        if one.item.n == 2 and one.winner is not None and one.winner == other.winner
    ]


def _right(pairs: Sequence[tuple[Look, Look]]) -> list[Figure]:
    """How often gold's best answer wins, by where it stands, and in both orders."""
    looks = [look for pair in pairs for look in pair if look.better is not None]
    if not looks:
        return []
    found: list[Figure] = []
    for name, place in (("first", 0), ("last", -1)):
        own = [look for look in looks if look.better == place % look.item.n]
        right = [look.right for look in own if look.right is not None]
        found.append(share(f"right, better answer {name}", right, failed=len(own) - len(right), blind=0.5))
    both = [(one.right, other.right) for one, other in pairs if one.right is not None and other.right is not None]
    found.append(share("right in both orders", [bool(one and other) for one, other in both], blind=0.25))
    return found


def _findings(changed: Figure, first: Figure) -> tuple[str, ...]:
    if changed.low is None or changed.low <= UNSTEADY:
        return ()
    side = ""
    if first.low is not None and first.high is not None and (first.low > 0.5 or first.high < 0.5):
        side = f", and it is the {'first' if first.low > 0.5 else 'last'} place that wins"
    return (f"verdicts change when the answers change places{side}: ask in both orders, or vote with balanced ones",)
