"""The processes of one group, as /proc shows them. Reading it takes about a millisecond per hundred processes."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DEAD = "ZX"
_PART_OF_SGLANG = "sglang::"
"""How SGLang titles its schedulers, controllers and detokenizers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """One process. ``state`` as in ``ps``: R runs, S sleeps, D waits for a device, T is stopped, Z is dead."""

    pid: int
    parent: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a server's processes. One that is stopped may be continued; one that is dead may not."""

    detail: str
    dead: bool


def members(group: int) -> dict[int, Relative]:
    """The living processes of a group by their id."""
    found: dict[int, Relative] = {}
    for entry in os.listdir(_PROC):
        if entry.isdecimal() and (one := _look(int(entry))) is not None and one[1] == group:
            found[one[0].pid] = one[0]
    return {pid: one for pid, one in found.items() if one.state not in _DEAD}


def essential(group: int, leader: int) -> frozenset[int]:
    """The processes without which the server cannot answer: itself, and the parts that it has started.

    Args:
        leader: the process that started the server, which is not one of them.
    """
    family = members(group)
    servers = {one.pid for one in family.values() if one.parent == leader}
    children = {one.pid for one in family.values() if one.parent in servers}
    titled = {pid for pid in family if _PART_OF_SGLANG in _command(pid)}
    return frozenset(servers | (titled or children))


def find_fault(pids: Collection[int]) -> Fault | None:
    """What is wrong with processes that ought to run, the worst first; None when nothing is."""
    states = {pid: one[0].state if (one := _look(pid)) is not None else "X" for pid in pids}
    for letters, word, dead in ((_DEAD, "dead", True), ("Tt", "stopped", False)):
        for pid, state in states.items():
            if state in letters:
                return Fault(detail=f"process {pid} of the server is {word}", dead=dead)
    return None


def _look(pid: int) -> tuple[Relative, int] | None:
    """A process and its group."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    # The name stands in parentheses and may hold anything, parentheses included.
    state, parent, group = text.rpartition(")")[2].split()[:3]
    return Relative(pid=pid, parent=int(parent), state=state), int(group)


def _command(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
