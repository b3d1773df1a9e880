"""``assay bench list`` and ``assay bench items``: the benchmarks, and the questions of one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from assay.bench.catalog import BENCHMARKS, find_benchmark
from assay.bench.loading import load_benchmark
from assay.bench.running.asked import first_cases
from assay.core.errors import InputError
from assay.data import item_to_row, write_jsonl
from assay.report.bench_text import benchmark_json, print_benchmark, print_benchmarks, print_loaded

from .bench_flags import revisions_of
from .bench_list import BenchItemsFlags, BenchListFlags
from .showing import console, say


def bench_list(flags: BenchListFlags) -> None:
    """List them."""
    found = list(BENCHMARKS.values()) if flags.name is None else [find_benchmark(flags.name)]
    if flags.as_json:
        print(json.dumps([benchmark_json(one) for one in found], indent=2, ensure_ascii=False))
    elif flags.name is None:
        print_benchmarks(console, found)
    else:
        print_benchmark(console, found[0])


def bench_items(flags: BenchItemsFlags) -> None:
    """Write the questions; ends the process with exit code 1 when some record was skipped."""
    benchmark = find_benchmark(flags.name)
    if benchmark.private_text:
        raise InputError(f"the authors of {benchmark.name!r} ask that its text stand in no file: run it directly")
    if len(flags.data) > 1:
        raise InputError(f"--data is given {len(flags.data)} times for the one benchmark {benchmark.name!r}")
    source = flags.data[0] if flags.data and flags.data[0] != "hub" else None
    loaded = load_benchmark(benchmark, source, revision=revisions_of(flags), password=flags.password)
    units = first_cases(loaded.units, flags.limit)
    print_loaded(console, loaded, len(units))
    out = flags.out or Path(f"{benchmark.name}.items.jsonl")
    write_jsonl(out, ({**item_to_row(unit.item), "subset": unit.subset, "case": unit.case} for unit in units))
    say(f"{len(units)} questions in {out}")
    if loaded.faults:
        sys.exit(1)
