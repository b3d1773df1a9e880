"""Letters over a stream socket: a frame is four bytes of length and a JSON list of letters.

Letters that are sent in one turn of the event loop go in one frame: under load, many share one write and one read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, cast

from .packing import Packed

log = logging.getLogger(__name__)

_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder()
_HEAD = 4
_HIGHEST = 1 << 30


class Frames(asyncio.Protocol):
    """One end of a connection.

    Args:
        on_letter: called with each letter that arrives. What it raises of ValueError, KeyError and TypeError (not a
            letter) ends the connection.
        on_end: called once when the connection is over, with the reason.
    """

    def __init__(self, on_letter: Callable[[Packed], None], on_end: Callable[[str], None]) -> None:
        self._on_letter = on_letter
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._out: list[Packed] = []
        self._why = ""

    def send(self, letter: Packed) -> None:
        """Send it with the next frame; nothing happens once the connection is over."""
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        self._out.append(letter)

    def end(self, why: str = "closed here") -> None:
        """Send what is left and close."""
        self._why = self._why or why
        if self._transport is not None:
            self._flush()
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's by type.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._buffer and len(data) == _HEAD + int.from_bytes(data[:_HEAD], "big"):
            self._read(data[_HEAD:])  # the usual case: a frame, whole and alone
            return
        self._buffer += data
        while len(self._buffer) >= _HEAD:
            size = int.from_bytes(self._buffer[:_HEAD], "big")
            if size > _HIGHEST:
                self.end(f"a frame of {size} bytes")
                return
            if len(self._buffer) < _HEAD + size:
                return
            frame = bytes(self._buffer[_HEAD : _HEAD + size])
            del self._buffer[: _HEAD + size]
            self._read(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._on_end(self._why or (f"the connection broke: {exc}" if exc else "the other end has closed"))

    def _read(self, frame: bytes) -> None:
        try:
            letters: Any = _DECODER.decode(frame.decode())
            for letter in letters:
                self._on_letter(letter)
        except (ValueError, KeyError, TypeError) as error:
            log.error("a connection carries what is no letter: %r", error)
            self.end(f"what came is no letter: {error!r}")

    def _flush(self) -> None:
        letters, self._out = self._out, []
        if letters and self._transport is not None and not self._transport.is_closing():
            body = _ENCODER.encode(letters).encode()
            self._transport.write(len(body).to_bytes(_HEAD, "big") + body)
