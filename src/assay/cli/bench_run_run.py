"""What ``assay bench run`` does with its flags: load, build, ask, count, show. The layers below decide everything."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.bench.benchmark import Benchmark
from assay.bench.benchmarks.own import own
from assay.bench.catalog import find_benchmark
from assay.bench.loading import Loaded, load_benchmark
from assay.bench.overall import overall
from assay.bench.running.asked import first_cases
from assay.bench.running.external import read_table
from assay.bench.running.passes import Asker, Pass
from assay.bench.running.provenance import file_hashes, units_hash, versions
from assay.bench.running.result import result_of
from assay.bench.running.run import Made, Planned, Settings, finished, planned, write_all
from assay.bench.running.series import ONCE, Series
from assay.bench.running.written import FORMAT, RUN_JSON, read_json, write_json
from assay.bench.unit import Unit
from assay.core import log
from assay.core.errors import InputError
from assay.core.types import Json
from assay.data import FieldMap
from assay.report.bench_text import cost_json, print_loaded, print_overall, print_result
from assay.scoring.job import JobResult, run_job

from .bench_askers import asker_of
from .bench_flags import asking_flags, refuse, revisions_of
from .bench_run import BenchRunFlags
from .building import prepared
from .ending import exit_code
from .progress import judging_progress
from .showing import console, rates_of, say

_SECRET = frozenset({"api_key", "password"})
_OWN = frozenset({"pairs", "bon", "single"})


def bench_run(flags: BenchRunFlags) -> None:
    """Run all benchmarks; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    log.setup("warning")
    benchmarks = _benchmarks(flags)
    sources, tables = _by_name(flags.data, benchmarks, "data"), _by_name(flags.table, benchmarks, "table")
    rates_of(flags)
    if tables:
        refuse(flags, ("judge", "reward", "k", "orders", "meta"), "has no effect on a table: the answers are there")
    elif flags.scalar:
        raise InputError("--scalar is about a table: name it with --table")
    asker = None if tables else asker_of(flags)
    scores: dict[str, float | None] = {}
    code = 0
    for benchmark in benchmarks:
        made, whole = _one(flags, benchmark, sources.get(benchmark.name), asker, tables.get(benchmark.name))
        scores[benchmark.name] = made.result.aggregate.score.value
        answered = made.result.units - sum(made.result.failures.values())
        code = max(code, exit_code(skipped=not whole, made=answered))
    if len(scores) > 1:
        print_overall(console, overall(scores))
    if code:
        sys.exit(code)


def _benchmarks(flags: BenchRunFlags) -> list[Benchmark]:
    if not flags.names:
        raise InputError("name at least one benchmark; assay bench list shows them")
    if len(set(flags.names)) < len(flags.names):
        raise InputError(f"a benchmark is named twice: {', '.join(flags.names)}")
    if flags.field and not set(flags.names) <= _OWN:
        raise InputError(f"--field maps the fields of {', '.join(sorted(_OWN))}; official formats have their own")
    fields = FieldMap.parse(flags.field)
    return [own(name, fields) if name in _OWN else find_benchmark(name) for name in flags.names]


def _by_name(given: Sequence[str], benchmarks: Sequence[Benchmark], flag: str) -> dict[str, str]:
    """``PATH`` for the one benchmark, or ``NAME=PATH`` for each."""
    names = [benchmark.name for benchmark in benchmarks]
    found: dict[str, str] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or name not in names:
            if len(names) > 1 and one != "hub":
                raise InputError(f"--{flag} {one!r}: with several benchmarks write NAME=PATH, of {', '.join(names)}")
            name, path = names[0], one
        if name in found:
            raise InputError(f"--{flag} is given twice for {name!r}")
        found[name] = path
    if flag == "table" and found and set(found) != set(names):
        raise InputError(f"--table is missing for {', '.join(name for name in names if name not in found)}")
    return {name: path for name, path in found.items() if path != "hub"}


def _one(
    flags: BenchRunFlags, benchmark: Benchmark, source: str | None, asker: Asker | None, table: str | None
) -> tuple[Made, bool]:
    """One benchmark; the second value says whether every record counts."""
    if benchmark.private_text and flags.cache is not None:
        raise InputError(f"--cache would keep texts of {benchmark.name!r}, whose authors ask that none be stored")
    loaded = load_benchmark(benchmark, source, revision=revisions_of(flags), password=flags.password)
    units = _units(flags, loaded)
    print_loaded(console, loaded, len(units))
    told = _told(flags, benchmark, loaded, units)
    begin = time.perf_counter()
    spent: dict[str, Any] = {}
    if asker is None:
        made = _of_table(flags, benchmark, units, Path(table or ""), told)
    else:
        how = Settings(
            folder=flags.out / benchmark.name,
            seed=flags.seed,
            concurrency=flags.concurrency,
            deadline_s=flags.deadline_s,
            fresh=flags.fresh,
            retry_failed=flags.retry_failed,
        )
        run = planned(benchmark, units, asker, flags, how)
        _note(flags, loaded, told, {"finished": False})
        spent = _ask(flags, run)
        made = finished(run, told)
    costs = {name: cost_json(found, rates_of(flags)) for name, found in made.recorded.items()}
    seconds = {"finished": True, "seconds": round(time.perf_counter() - begin, 3), "passes": spent, "cost": costs}
    _note(flags, loaded, told, {**seconds, "score": made.result.aggregate.score.value})
    print_result(console, made, costs, limited=flags.limit)
    say(f"all of it: {flags.out / benchmark.name}")
    return made, not (loaded.faults or made.refused)


def _units(flags: BenchRunFlags, loaded: Loaded) -> tuple[Unit, ...]:
    units = first_cases(loaded.units, flags.limit)
    items = prepared(asking_flags(flags), tuple(unit.item for unit in units))
    return tuple(replace(unit, item=item) for unit, item in zip(units, items, strict=True))


def _of_table(
    flags: BenchRunFlags, benchmark: Benchmark, units: Sequence[Unit], table: Path, told: Mapping[str, Json]
) -> Made:
    judged = read_table(table, units)
    series = [Series(name=ONCE, k=1, judged=tuple(judged))]
    counting = flags.counting(scalar=flags.scalar, seed=flags.seed)
    result = result_of(benchmark, series, counting, seed=flags.seed, draws=flags.bootstrap)
    write_all(flags.out / benchmark.name, result, series, {**told, "table": table.name}, {})
    return Made(result=result)


def _ask(flags: BenchRunFlags, run: Planned) -> dict[str, Any]:
    """Every pass; what each of them took."""
    spent: dict[str, Any] = {}
    for one in run.passes:
        result = JobResult()
        try:
            asyncio.run(_pass(run, one, result))
        except KeyboardInterrupt:
            say(f"stopped: what was judged is kept in {flags.out}; the same command goes on from there")
            sys.exit(130)
        spent[one.name] = {
            "judged": result.judged,
            "resumed": result.resumed,
            "seconds": round(result.seconds, 3),
            "seed": one.seed,
            "temperature": 0.0 if one.greedy else None,
        }
    return spent


async def _pass(run: Planned, one: Pass, result: JobResult) -> None:
    # Built here: an engine and a client belong to the event loop that they are used in.
    with judging_progress(f"{run.benchmark.name}: {one.name}") as progress:
        await run_job(run.job(one), run.asker.backend(one), progress, result)


def _told(flags: BenchRunFlags, benchmark: Benchmark, loaded: Loaded, units: Sequence[Unit]) -> dict[str, Any]:
    """What ``score.json`` says of data and asking: nothing that differs between runs that ask the same."""
    names = ("k", "greedy", "orders", "reduce", "min_valid", "k_meta", "seeds", "limit", "bootstrap", "seed", "reask",
             "lenient", "sampling", "judge_options", "reward", "head", "meta")  # fmt: skip
    asked = {name: value for name, value in flags.model_dump(mode="json").items() if name in names}
    return {
        **asked,
        "revisions": dict(loaded.revisions),
        "unpinned": list(loaded.unpinned),
        "units_hash": units_hash(units),
        "left_out": dict(loaded.left_out),
        "faults": len(loaded.faults),
        "assay": versions()["assay"],
        "private_text": benchmark.private_text,
    }


def _note(flags: BenchRunFlags, loaded: Loaded, told: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Write into ``run.json`` what was asked and what came of it; other benchmarks of the run stay in it."""
    path = flags.out / RUN_JSON
    before = read_json(path) or {}
    entry = {
        "asked": flags.model_dump(mode="json", exclude=set(_SECRET)),
        "source": loaded.source,
        "revisions": dict(loaded.revisions),
        "files": file_hashes(loaded),
        "units": len(loaded.units),
        "units_hash": told["units_hash"],
        "faults": [str(fault) for fault in loaded.faults],
        "left_out": dict(loaded.left_out),
        "renamed": list(loaded.renamed),
        "unread": list(loaded.unread),
        **more,
    }
    document = {
        "assay_bench": FORMAT,
        "versions": versions(),
        "benchmarks": {**before.get("benchmarks", {}), loaded.benchmark.name: entry},
    }
    write_json(path, document)
