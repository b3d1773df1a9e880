"""A benchmark run on the terminal: what was loaded, the official score first, and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.bench import score as bench_score
from assay.bench.aggregate import Interval
from assay.bench.benchmark import Benchmark
from assay.bench.loading import Loaded
from assay.bench.overall import Overall
from assay.bench.running.lengths import ALL
from assay.bench.running.recorded import Recorded
from assay.bench.running.result import Result, SeriesResult
from assay.bench.running.run import Made
from assay.bench.score import Part
from assay.data import VERDICT, ResultRow

from .cost import Rates, cost_of
from .words import FAILURES, number, power

_LISTED = 10
_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""The numbers of votes that the terminal shows; ``score.json`` has all."""


def print_loaded(console: Console, loaded: Loaded, units: int) -> None:
    """What was read, and all that is not counted."""
    benchmark = loaded.benchmark
    of = f" of {len(loaded.units)}" if units < len(loaded.units) else ""
    at = "".join(f", {name}@{revision[:12]}" for name, revision in loaded.revisions.items())
    _say(console, f"{benchmark.title}: {units}{of} questions out of {loaded.source}{at}", "bold")
    if loaded.unpinned:
        told = " ".join(f"--revision {name}={loaded.revisions[name]}" for name in loaded.unpinned)
        _say(console, f"no revision is pinned: read as it is today; to read the same again: {told}", "yellow")
    for fault in loaded.faults[:_LISTED]:
        _say(console, f"skipped: {fault}", "yellow")
    if len(loaded.faults) > _LISTED:
        _say(console, f"skipped: {len(loaded.faults) - _LISTED} more records", "yellow")
    for reason, count in loaded.left_out.items():
        _say(console, f"left out, as the benchmark does: {count} records: {reason}")
    for told, names in (
        ("no case of official subsets", loaded.missing),
        ("subsets that are not official", loaded.unofficial),
        ("renamed, as their id was taken", loaded.renamed),
        ("files that are none of its", loaded.unread),
    ):
        if names:
            _say(console, f"{told}: {_some(names)}", "yellow")


def print_result(console: Console, made: Made, costs: Mapping[str, Any], *, limited: int | None) -> None:
    """The score, its parts, the series, the rules."""
    result = made.result
    found = result.aggregate
    console.print()
    _say(console, f"{result.benchmark.title}: {figure(found.score.value, found.intervals.get(''))}", "bold green")
    for line in _about(result, limited):
        _say(console, line)
    for name, reason in list(made.refused.items())[:_LISTED]:
        shown = "the judge cannot take it" if result.benchmark.private_text else reason
        _say(console, f"not judged: {name}: {shown}", "yellow")
    console.print(_parts(result))
    for table in result.aggregate.score.tables:
        console.print(_measures(table))
    if len(result.series) > 1:
        console.print(_series(result))
    for line in (*_otherwise(result), *_orders(result), *_costs(costs)):
        _say(console, line)


def print_overall(console: Console, found: Overall) -> None:
    """Overall as the DeepSeek-GRM paper has it, or which part of it is missing."""
    console.print()
    if found.value is None:
        _say(console, f"no Overall: it needs {', '.join(found.missing)} too")
    else:
        _say(console, f"Overall (mean of {', '.join(found.parts)}): {found.value:.2f}", "bold green")


def figure(value: float | None, interval: Interval | None = None) -> str:
    """A score, with its interval where there is one."""
    if value is None:
        return "nothing to count"
    return f"{value:.2f}" + (f" ({interval.low:.2f}–{interval.high:.2f})" if interval else "")


def _about(result: Result, limited: int | None) -> Iterator[str]:
    counting, found = result.counting, result.aggregate
    yield (
        f"{result.headline} over {found.counted} cases ({result.units} questions); ties {counting.ties}, failures "
        f"{counting.failures}" + (", scalar reward model" if counting.scalar else "")
    )
    if limited is not None:
        yield f"a trial: only the first {limited} cases of each subset, so this is no official score"
    if found.missing:
        yield f"{len(found.missing)} official subsets have no case: this is not the score of the whole benchmark"
    for told, names in (("excluded by the rule for failures", found.excluded), ("incomplete", found.incomplete)):
        if names:
            yield f"{len(names)} cases {told}: {_some(names)}"
    if result.failures:
        kinds = ", ".join(f"{kind} {count} ({FAILURES[kind]})" for kind, count in result.failures.items())
        yield f"failed: {sum(result.failures.values())} of {result.units}: {kinds}"


def _parts(result: Result) -> Table:
    table = _table("part", "score", "95 %", "cases", left=("part",))
    for path, part in result.aggregate.score.walk():
        interval = result.aggregate.intervals.get(path)
        depth = _depth(result.aggregate.score.parts, part)
        span = "" if interval is None else f"{interval.low:.2f}–{interval.high:.2f}"
        table.add_row(Text("  " * depth + part.name), _plain(part.value), span, number(part.n))
    for name, value in result.aggregate.score.beside.items():
        table.add_row(Text(f"({name})", style="dim"), _plain(value), "", "")
    return table


def _measures(shown: bench_score.Table) -> Table:
    """Other measures of the same answers; ``score.json`` has their intervals."""
    table = _table(shown.name, "cases", *shown.columns, left=(shown.name,))
    for column in table.columns:
        column.overflow = "fold"
    for row in shown.rows:
        table.add_row(Text(row.name), number(row.n), *map(_plain, row.values))
    return table


def _depth(parts: Sequence[Part], wanted: Part, depth: int = 0) -> int:
    for part in parts:
        if part is wanted:
            return depth
        inner = _depth(part.parts, wanted, depth + 1) if part.parts else -1
        if inner >= 0:
            return inner
    return -1


def _series(result: Result) -> Table:
    bases = list(dict.fromkeys(gain.over for one in result.series for gain in one.gains))
    table = _table(
        "series", "votes", "kept", "score", "95 %", *(f"over {base}" for base in bases), "failed", "tied",
        left=("series",),
    )  # fmt: skip
    for one in _shown(result.series):
        gains = {gain.over: gain for gain in one.gains}
        span = "" if one.interval is None else f"{one.interval.low:.2f}–{one.interval.high:.2f}"
        table.add_row(
            one.name,
            str(one.k),
            "" if one.k_meta is None else str(one.k_meta),
            _plain(one.score),
            span,
            *(_gain(gains[base].value, gains[base].interval) if base in gains else "" for base in bases),
            str(one.failed),
            str(one.tied),
            style="bold" if one.name == result.headline else None,
        )
    return table


def _shown(series: Sequence[SeriesResult]) -> list[SeriesResult]:
    most = max(one.k for one in series)
    return [one for one in series if one.k in (*_STEPS, most)]


def _gain(value: float, interval: Interval | None) -> str:
    return f"{value:+.2f}" + (f" ({interval.low:+.2f} to {interval.high:+.2f})" if interval else "")


def _otherwise(result: Result) -> Iterator[str]:
    ties = ", ".join(f"{name} {_plain(value)}" for name, value in result.by_ties.items())
    yield f"with other rules for ties ({result.tied} tied): {ties}"
    failures = ", ".join(f"{name} {_plain(value)}" for name, value in result.by_failures.items())
    yield f"with other rules for failures ({sum(result.failures.values())} failed): {failures}"


def _orders(result: Result) -> Iterator[str]:
    orders, seeds = result.orders, result.seeds
    if orders is not None:
        yield (
            f"one order at a time: {_plain(orders.first)} as in the file, {_plain(orders.second)} the other way round, "
            f"mean {_plain(orders.mean)}; both agree on {_plain(orders.agree)} %"
        )
    if seeds is not None:
        told = ", ".join(f"{seed}: {_plain(value)}" for seed, value in seeds.scores.items())
        yield (
            f"single order under {len(seeds.scores)} seeds: {told}; spread {_plain(seeds.spread)} points, standard "
            f"deviation {_plain(seeds.deviation)}; {_plain(seeds.changed)} % of the answers are not the same under all"
        )


def _costs(costs: Mapping[str, Any]) -> Iterator[str]:
    for name, cost in costs.items():
        if not cost:
            continue
        told = [f"{number(cost['calls'])} calls", f"{number(cost['tokens'])} tokens"]
        told += [f"{power(cost['flops'])} FLOPs"] if cost["flops"] is not None else []
        told += [f"{number(cost['money'])} money"] if cost["money"] is not None else []
        yield f"cost of {name}: {', '.join(told)}"


def cost_json(recorded: Recorded, rates: Rates) -> dict[str, Any]:
    """What a pass cost this and earlier calls together; empty where nothing was counted."""
    rows = [
        ResultRow(
            item_id=ALL,
            judge=ALL,
            outcome=VERDICT,
            parameters=parameters,
            calls=used.calls,
            prompt_tokens=used.prompt_tokens,
            cached_tokens=used.cached_tokens,
            completion_tokens=used.completion_tokens,
        )
        for parameters, used in recorded.spent.items()
    ]
    verdicts = sum(len(votes) for votes in recorded.votes.values()) - sum(recorded.failures.values())
    cost = cost_of(rows, verdicts, rates)
    if cost is None:
        return {}
    return {
        "calls": sum(row.calls for row in rows),
        "verdicts": cost.verdicts,
        "tokens": cost.tokens,
        "prompt_tokens": sum(row.prompt_tokens for row in rows),
        "cached_tokens": sum(row.cached_tokens for row in rows),
        "completion_tokens": sum(row.completion_tokens for row in rows),
        "flops": None if cost.flops is None else cost.flops.spent,
        "money": cost.money,
    }


def print_benchmarks(console: Console, benchmarks: Iterable[Benchmark]) -> None:
    """A line each."""
    table = _table("name", "asks", "orders", "out of", "what is counted", left=("name", "asks", "out of", "orders"))
    for one in benchmarks:
        table.add_row(one.name, one.kind, one.orders, Text(_origin(one)), Text(one.about))
    console.print(table)


def print_benchmark(console: Console, one: Benchmark) -> None:
    """All that is known about one."""
    for name, value in benchmark_json(one).items():
        if value not in (None, [], False):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            _say(console, f"{name}: {shown}")


def benchmark_json(one: Benchmark) -> dict[str, Any]:
    """A benchmark as JSON."""
    return {
        "name": one.name,
        "title": one.title,
        "about": one.about,
        "asks": one.kind,
        "orders": one.orders,
        "license": one.license,
        "subsets": list(one.subsets),
        "sources": [asdict(source) for source in one.sources],
        "files": list(one.files),
        "private_text": one.private_text,
    }


def _origin(one: Benchmark) -> str:
    if not one.sources:
        return "your own copy (--data)" if one.subsets else "your own file (--data)"
    first = one.sources[0]
    at = f"@{first.revision[:7]}" if first.revision else " (no pinned revision)"
    more = f" and {len(one.sources) - 1} more" if len(one.sources) > 1 else ""
    return f"{first.hub}{at}{more}"


def _table(*columns: str, left: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in left or name == "what is counted" else "right")
    return table


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(Text(text, style=style or ""), soft_wrap=True)
