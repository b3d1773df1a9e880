"""``assay bench list``: the benchmarks, as a table or JSON."""

from __future__ import annotations

import json

from assay.bench.catalog import BENCHMARKS, find_benchmark
from assay.report.bench_text import benchmark_json, print_benchmark, print_benchmarks

from .bench_run import BenchListFlags
from .showing import console


def bench_list(flags: BenchListFlags) -> None:
    """List them."""
    found = list(BENCHMARKS.values()) if flags.name is None else [find_benchmark(flags.name)]
    if flags.as_json:
        print(json.dumps([benchmark_json(one) for one in found], indent=2, ensure_ascii=False))
    elif flags.name is None:
        print_benchmarks(console, found)
    else:
        print_benchmark(console, found[0])
