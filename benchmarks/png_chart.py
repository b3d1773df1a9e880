"""Line charts as PNG with numpy and the standard library alone: a few panels side by side, with axes and legends."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEIGHT, MARGIN = 520, 400, 64
COLOURS = ((31, 92, 158), (200, 80, 30), (40, 140, 70), (130, 70, 150), (90, 90, 90))
_GLYPHS = (
    "0:75557 1:26227 2:71747 3:71717 4:55711 5:74717 6:74757 7:71111 8:75757 9:75717 A:25755 B:65656 C:34443 D:65556 "
    "E:74647 F:74644 G:34553 H:55755 I:72227 J:11152 K:55655 L:44447 M:57755 N:65555 O:25552 P:65644 Q:25573 R:65655 "
    "S:34216 T:72222 U:55557 V:55552 W:55775 X:55255 Y:55222 Z:71247 .:00002 -:00700 =:07070 /:11244 @:25743 %:51245"
)
FONT = {entry[0]: [int(row) for row in entry[2:]] for entry in _GLYPHS.split()}
"""Five rows of three bits for each sign."""


@dataclass(frozen=True)
class Panel:
    """``lines``: name -> one y per x; the x axis is logarithmic, base 2."""

    title: str
    xs: Sequence[int]
    lines: Mapping[str, Sequence[float]]


def save_chart(path: Path, panels: Sequence[Panel]) -> None:
    """Draw the panels side by side and write them as one PNG."""
    image = np.concatenate([_drawn(panel) for panel in panels], axis=1)
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _drawn(panel: Panel) -> Any:
    image = np.full((HEIGHT, WIDTH, 3), 255, dtype=np.uint8)
    values = [y for line in panel.lines.values() for y in line]
    low, high = min(values), max(values)
    room = (high - low) * 0.05 or 0.1
    low, high = low - room, high + room
    right, bottom = WIDTH - 20, HEIGHT - 50
    span = math.log2(panel.xs[-1] / panel.xs[0]) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + (right - MARGIN) * math.log2(x / panel.xs[0]) / span,
            bottom - (bottom - 40) * (y - low) / (high - low),
        )

    for step in range(5):
        y = low + (high - low) * step / 4
        _line(image, at(panel.xs[0], y), at(panel.xs[-1], y), (225, 225, 225), 0)
        _text(image, 4, round(at(panel.xs[0], y)[1]) - 5, f"{y:.3g}", 2)
    for x in panel.xs:
        _text(image, round(at(x, low)[0]) - 5, bottom + 10, str(x), 2)
    _text(image, MARGIN, 12, panel.title, 2)
    _text(image, right - 30, bottom + 30, "K", 2)
    rising = all(line[-1] > line[0] for line in panel.lines.values())
    for number, (name, line) in enumerate(panel.lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [at(x, y) for x, y in zip(panel.xs, line, strict=True)]
        for start, stop in pairwise(points):
            _line(image, start, stop, colour, 1)
        for point in points:
            _line(image, point, point, colour, 3)
        _text(
            image,
            right - 8 * len(name) - 8,
            (bottom - 20 - 16 * number) if rising else (48 + 16 * number),
            name,
            2,
            colour,
        )
    return image


def _line(
    image: Any, start: tuple[float, float], stop: tuple[float, float], colour: tuple[int, int, int], thick: int
) -> None:
    steps = max(2, int(2 * math.dist(start, stop)))
    for x, y in zip(np.linspace(start[0], stop[0], steps), np.linspace(start[1], stop[1], steps), strict=True):
        column, row = round(float(x)), round(float(y))
        image[max(row - thick, 0) : row + thick + 1, max(column - thick, 0) : column + thick + 1] = colour


def _text(image: Any, x: int, y: int, text: str, size: int, colour: tuple[int, int, int] = (40, 40, 40)) -> None:
    for sign in text.upper():
        for row, bits in enumerate(FONT.get(sign, (0, 0, 0, 0, 0))):
            for column in range(3):
                if bits >> (2 - column) & 1:
                    left, top = x + column * size, y + row * size
                    image[max(top, 0) : top + size, max(left, 0) : left + size] = colour
        x += 4 * size
