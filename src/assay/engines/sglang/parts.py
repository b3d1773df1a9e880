"""What a running server consists of, handed to everything that works on it."""

from __future__ import annotations

from dataclasses import dataclass

from .attached import AttachedProcess
from .config import SGLangConfig
from .flights import Flights, Gate
from .gpu import Cards, bytes_held
from .process import ServerProcess
from .server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One server from its start to its end. A new start makes new parts."""

    config: SGLangConfig
    process: ServerProcess | AttachedProcess
    server: Server
    gate: Gate
    flights: Flights
    cards: Cards

    def gpu_bytes(self) -> int | None:
        """What the server holds on its cards; None where they cannot be read."""
        cards = self.cards.read()
        return bytes_held(cards, self.process.pids) if cards else None
