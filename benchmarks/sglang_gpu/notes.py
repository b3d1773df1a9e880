"""What a run found: figures with their unit, checks with what was seen, all with the time; printed as they come."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import aiohttp

from assay.core.errors import AssayError


@dataclass(frozen=True)
class Line:
    """One figure (``passed`` None) or check."""

    step: str
    name: str
    value: float | str
    unit: str = ""
    passed: bool | None = None


class Notes:
    """Collects lines and writes them to ``out`` after every step, so that a run cut short leaves what it had."""

    def __init__(self, out: Path, name: str) -> None:
        self.lines: list[Line] = []
        self._file = out / f"{name}.json"
        self._began = time.monotonic()
        self._step = ""
        out.mkdir(parents=True, exist_ok=True)

    def figure(self, name: str, value: float | str, unit: str = "") -> None:
        """A measured value."""
        self._add(Line(self._step, name, value, unit))

    def check(self, name: str, passed: bool, seen: object) -> None:
        """Whether something held, and what was seen."""
        self._add(Line(self._step, name, str(seen)[:400], "", bool(passed)))

    def say(self, text: str) -> None:
        """Progress."""
        print(f"[{time.monotonic() - self._began:6.1f} s] {text}", flush=True)

    @asynccontextmanager
    async def step(self, name: str, limit_s: float) -> AsyncGenerator[None]:
        """A part of the run: bounded, and when it fails the next one still begins."""
        outer, self._step = self._step, name
        self.say(f"--- {name} (at most {limit_s:g} s)")
        began = time.monotonic()
        try:
            async with asyncio.timeout(limit_s):
                yield
        except (AssayError, AssertionError, TimeoutError, KeyError, ValueError, OSError, aiohttp.ClientError) as error:
            self.check(f"{name} came to its end", False, f"{type(error).__name__}: {error}")
        self.figure("took", round(time.monotonic() - began, 2), "s")
        self._step = outer
        self.write()

    def write(self) -> None:
        """Save what there is."""
        self._file.write_text(json.dumps([asdict(line) for line in self.lines], indent=1, ensure_ascii=False))

    def table(self) -> None:
        """Print all lines, one row each."""
        print(f"\n{self._file.name}\n{'':4} {'step':22} {'what':52} value")
        for line in self.lines:
            value = line.value if isinstance(line.value, str) else f"{line.value:g}"
            mark = {None: "", True: "ok", False: "NO"}[line.passed]
            print(f"{mark:4} {line.step[:22]:22} {line.name[:52]:52} {value[:44]} {line.unit}")
        failed = [line.name for line in self.lines if line.passed is False]
        self.say(f"{sum(line.passed is True for line in self.lines)} checks held, {len(failed)} did not: {failed}")

    def _add(self, line: Line) -> None:
        self.lines.append(line)
        mark = {None: "", True: " ok", False: " FAILED"}[line.passed]
        self.say(f"    {line.name}: {line.value} {line.unit}{mark}")
