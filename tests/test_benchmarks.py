"""``make bench`` knows every benchmark that there is, and none that there is not."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"


def test_every_benchmark_is_run_or_named_with_why_it_is_not() -> None:
    spec = importlib.util.spec_from_file_location("bench", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    commands = [arguments for group in bench.SKIPPED.values() for arguments, _ in group]
    skipped = {re.sub(r"-m benchmarks\.(\w+)\.(\w+)", r"\1/\2.py", one).split()[0] for one in commands}
    named = {f"{name}.py" for name in bench.BENCHMARKS} | skipped
    assert {name for name in named if not (FOLDER / name).is_file()} == set()
    own = {path.name for path in FOLDER.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))}
    covered = {name.split("/")[0] for name in named}
    assert own - covered - {"__main__.py"} <= set(bench.PARTS)
    assert {part for part in bench.PARTS if part.endswith(".py")} & named == set()
