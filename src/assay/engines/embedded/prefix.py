"""Which prompts share a beginning, and what of it is already computed. Pure: token ids in, opaque payloads beside them.

Owns: the radix tree over time (``PrefixTree``), bounded in bytes, and the plan for prompts that wait together
(``shared_stretches``). Does not own: what a payload is (the engine keeps tensors, the tests keep tuples).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

P = TypeVar("P")
Tokens = tuple[int, ...]


def common_length(a: Tokens, b: Tokens) -> int:
    """How many tokens two sequences share from the start."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    # Slices compare in C, so halving beats a loop over tokens.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Stretch:
    """Prompts (by index) that agree on their first ``stop`` tokens, so that one of them computes these for all."""

    members: tuple[int, ...]
    stop: int


def shared_stretches(prompts: Sequence[Tokens], known: Sequence[int], least: int) -> list[Stretch]:
    """The stretches worth computing once: at least ``least`` tokens past what every member knows.

    ``known[i]``: how many tokens of prompt i are computed. A stretch ends where its first member parts from the others,
    so nested sharing takes several rounds. The last token of a prompt is never shared: its owner needs its logits.
    """
    order = sorted(range(len(prompts)), key=lambda i: prompts[i])
    stretches: list[Stretch] = []
    run: list[int] = order[:1]
    stop = 0

    def close() -> None:
        if len(run) > 1:
            stretches.append(Stretch(tuple(sorted(run)), stop))

    for left, right in pairwise(order):
        shared = common_length(prompts[left], prompts[right])
        shared = min(shared, len(prompts[left]) - 1, len(prompts[right]) - 1)
        if shared - min(known[left], known[right]) >= least:
            stop = shared if len(run) == 1 else min(stop, shared)
            run.append(right)
        else:
            close()
            run = [right]
    close()
    return stretches


@dataclass(slots=True, eq=False)
class _Node(Generic[P]):
    tokens: Tokens
    payload: P
    parent: _Node[P] | None
    children: dict[int, _Node[P]] = field(default_factory=dict[int, "_Node[P]"])
    used: int = 0


class PrefixTree(Generic[P]):
    """A radix tree: each edge holds the tokens of a stretch and the payload computed for exactly these.

    Args:
        capacity: most bytes of payload to keep; the least recently used leaves go first.
        token_bytes: bytes of payload per token.
        split: cuts a payload in two after so many tokens; both parts must own their memory.
    """

    def __init__(self, capacity: int, token_bytes: int, split: Callable[[P, int], tuple[P, P]]) -> None:
        self.capacity = capacity
        self.tokens = 0
        self._token_bytes = token_bytes
        self._split = split
        self._roots: dict[int, _Node[P]] = {}
        self._clock = 0

    @property
    def nbytes(self) -> int:
        return self.tokens * self._token_bytes

    def match(self, tokens: Tokens, limit: int) -> tuple[list[tuple[P, int]], int]:
        """The payloads that cover the longest known beginning of ``tokens``, at most ``limit`` of them.

        Returns ``([(payload, how many of its tokens to take), ...], tokens covered)``.
        """
        self._clock += 1
        parts: list[tuple[P, int]] = []
        covered = 0
        for node, shared in self._walk(tokens):
            take = min(shared, limit - covered)
            if take <= 0:
                break
            node.used = self._clock
            parts.append((node.payload, take))
            covered += take
        return parts, covered

    def insert(self, tokens: Tokens, fetch: Callable[[int, int], P]) -> None:
        """Remember ``tokens``; ``fetch(start, stop)`` gives the payload of the stretch that is missing."""
        if not tokens or len(tokens) * self._token_bytes > self.capacity:
            return
        self._clock += 1
        parent: _Node[P] | None = None
        covered = 0
        for node, shared in self._walk(tokens):
            if shared < len(node.tokens) and covered + shared < len(tokens):
                self._cut(node, shared)
            node.used = self._clock
            parent = node
            covered += shared
        if covered == len(tokens):
            return
        rest = tokens[covered:]
        leaf = _Node(rest, fetch(covered, len(tokens)), parent, used=self._clock)
        self._siblings(parent)[rest[0]] = leaf
        self.tokens += len(rest)
        self._evict()

    def clear(self) -> int:
        """Forget everything; the bytes given back."""
        freed = self.nbytes
        self._roots.clear()
        self.tokens = 0
        return freed

    def _walk(self, tokens: Tokens) -> Iterator[tuple[_Node[P], int]]:
        """The nodes along ``tokens`` and how much of each agrees (all of it, but for the last)."""
        level, at = self._roots, 0
        while at < len(tokens) and (node := level.get(tokens[at])) is not None:
            shared = common_length(node.tokens, tokens[at : at + len(node.tokens)])
            # Taken before the yield: the caller may cut this node, and then the walk must end here.
            whole = shared == len(node.tokens)
            yield node, shared
            if not whole:
                return
            level, at = node.children, at + shared

    def _cut(self, node: _Node[P], at: int) -> None:
        """Split an edge in two; ``node`` keeps the first part, a new child takes the second."""
        head, tail = self._split(node.payload, at)
        lower = _Node(node.tokens[at:], tail, node, node.children, node.used)
        for child in lower.children.values():
            child.parent = lower
        node.tokens, node.payload, node.children = node.tokens[:at], head, {lower.tokens[0]: lower}

    def _siblings(self, parent: _Node[P] | None) -> dict[int, _Node[P]]:
        return self._roots if parent is None else parent.children

    def _evict(self) -> None:
        while self.nbytes > self.capacity:
            leaf = min(self._leaves(), key=lambda node: node.used)
            del self._siblings(leaf.parent)[leaf.tokens[0]]
            self.tokens -= len(leaf.tokens)

    def _leaves(self) -> Iterator[_Node[P]]:
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            if not node.children:
                yield node
