"""What a member of a pool may offer beyond the engine protocols; a pool makes use of it where it is there."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Supervised(Protocol):
    """An engine that lives in a process of its own."""

    async def lost(self) -> str:
        """Returns once that process has ended, whenever that is, with how. Called after ``start``."""
        ...

    def kill(self) -> None:
        """End the process at once, whatever it does; fine when it has ended."""
        ...


@runtime_checkable
class Reloadable(Protocol):
    """An engine that can read its weights again from where it read them at first."""

    async def reload(self) -> None: ...


@runtime_checkable
class Weighed(Protocol):
    """An engine whose memory can be measured from outside of what it claims."""

    async def held_bytes(self) -> int | None:
        """Bytes held where its model is; None where nobody can tell."""
        ...
