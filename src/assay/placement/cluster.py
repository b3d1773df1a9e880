"""The machines: nodes, GPUs on each, memory of each, and which node a logical GPU index is on.

A GPU's logical index is its place among all GPUs sorted by (node, device). Owns the table of cards. Does not look at a
real machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from assay.core.errors import InputError

GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One kind of GPU: what its data sheet says, less what the driver keeps.

    ``flops``: dense bf16 operations a second. ``bandwidth``: bytes of its memory read a second.
    """

    name: str
    memory: int
    flops: float
    bandwidth: float


CARDS = {
    card.name: card
    for card in (
        Card(name="H200", memory=139 * GIB, flops=989e12, bandwidth=4.8e12),
        Card(name="H100", memory=79 * GIB, flops=989e12, bandwidth=3.35e12),
        Card(name="A100", memory=79 * GIB, flops=312e12, bandwidth=2.04e12),
        # Not a card but two AVX2 cores in fp32, such that the shares in `speed` give the tokens measured there.
        Card(name="CPU", memory=8 * GIB, flops=0.16e12, bandwidth=8.5e9),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes with GPUs of one kind. ``gpus``: of each node. ``host_memory``: bytes a node has; None = not known."""

    gpus: tuple[int, ...]
    card: Card
    host_memory: int | None = None

    @property
    def size(self) -> int:
        """GPUs in all."""
        return sum(self.gpus)

    @property
    def edges(self) -> tuple[int, ...]:
        """Logical index of the first GPU of each node, and after the last one the number of GPUs."""
        return (0, *accumulate(self.gpus))

    def node_of(self, gpu: int) -> int:
        """The node that a logical GPU is on."""
        return next(node for node, edge in enumerate(self.edges[1:]) if gpu < edge)

    def __str__(self) -> str:
        if len(set(self.gpus)) == 1:
            return f"{len(self.gpus)}x{self.gpus[0]}x{self.card.name}"
        return "+".join(f"1x{count}x{self.card.name}" for count in self.gpus)


_SHAPE = re.compile(r"(\d+)x(\d+)x([A-Za-z]\w*)")


def parse_cluster(text: str, host_memory_gib: float | None = None) -> Cluster:
    """The cluster of ``1x8xH200`` (nodes x GPUs x card); parts with other numbers of GPUs are joined by ``+``.

    Raises:
        InputError: it is written otherwise, or names a card that is not known.
    """
    nodes: list[int] = []
    cards: set[str] = set()
    for part in text.split("+"):
        found = _SHAPE.fullmatch(part.strip())
        if found is None:
            raise InputError(f"--cluster {text!r}: write nodes x GPUs x card, such as 1x8xH200 or 2x8xH100")
        nodes += [int(found[2])] * int(found[1])
        cards.add(found[3].upper())
    if len(cards) > 1:
        raise InputError(f"--cluster {text!r}: cards of one kind only, not {_joined(sorted(cards))}")
    (name,) = cards
    if name not in CARDS:
        raise InputError(f"--cluster {text!r}: card {name!r} is not known; one of {_joined(CARDS)}")
    if sum(nodes) == 0:
        raise InputError(f"--cluster {text!r} has no GPU; on a laptop write 1x1xCPU")
    host = None if host_memory_gib is None else int(host_memory_gib * GIB)
    return Cluster(gpus=tuple(nodes), card=CARDS[name], host_memory=host)


def _joined(parts: Sequence[str] | dict[str, Card]) -> str:
    return ", ".join(parts)
