"""A picture as boxes and labels in pixels, which becomes SVG, or PNG without any font or drawing package."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from .glyphs import HEIGHT, WIDTH, dots

SCALE = 2
"""Pixels of a dot of a letter in a PNG."""

LETTER = (WIDTH + 1) * SCALE
"""Pixels from one letter to the next, in both forms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A filled rectangle. ``colour``: ``#rrggbb``; ``title``: what it says when pointed at, in SVG."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A line of text whose top left corner is at ``x``, ``y``."""

    x: float
    y: float
    text: str
    colour: str = "#1c1e22"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Boxes under labels, each in order."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]
    paper: str = "#faf9f6"

    def svg(self) -> str:
        """The picture as an SVG element."""
        boxes = "".join(
            f'<rect x="{b.x:.1f}" y="{b.y:.1f}" width="{b.width:.1f}" height="{b.height:.1f}" fill="{b.colour}">'
            f"<title>{escape(b.title)}</title></rect>"
            for b in self.boxes
        )
        labels = "".join(
            f'<text x="{t.x:.1f}" y="{t.y + HEIGHT * SCALE:.1f}" fill="{t.colour}">{escape(t.text)}</text>'
            for t in self.labels
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'font-family="ui-monospace, monospace" font-size="18">'
            f'<rect width="{self.width}" height="{self.height}" fill="{self.paper}"/>{boxes}{labels}</svg>'
        )

    def png(self) -> bytes:
        """The picture as a PNG file."""
        rows = [bytearray(_rgb(self.paper) * self.width) for _ in range(self.height)]
        for box in self.boxes:
            _fill(rows, box.x, box.y, box.width, box.height, _rgb(box.colour))
        for label in self.labels:
            for x, y in _dots(label):
                _fill(rows, x, y, SCALE, SCALE, _rgb(label.colour))
        return _png(self.width, self.height, rows)


def _dots(label: Label) -> Iterable[tuple[float, float]]:
    for place, letter in enumerate(label.text):
        for y, row in enumerate(dots(letter)):
            for x, on in enumerate(row):
                if on:
                    yield label.x + place * LETTER + x * SCALE, label.y + y * SCALE


def _fill(rows: list[bytearray], x: float, y: float, width: float, height: float, colour: bytes) -> None:
    """Only what lies within the picture; anything that is there at all is at least a pixel wide."""
    most = len(rows[0]) // 3
    left, right = max(0, round(x)), min(most, max(round(x) + 1, round(x + width)))
    if right <= left:
        return
    for line in range(max(0, round(y)), min(len(rows), round(y + height))):
        rows[line][3 * left : 3 * right] = colour * (right - left)


def _rgb(colour: str) -> bytes:
    return bytes.fromhex(colour.removeprefix("#"))


def _png(width: int, height: int, rows: Iterable[bytearray]) -> bytes:
    """8-bit RGB, each line unfiltered (PNG specification, section 11.2)."""
    head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
