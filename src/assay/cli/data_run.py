"""What ``assay data`` does with its flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Draw, Item
from assay.data import BadRecord, FieldMap, item_to_row, load_items, open_source, write_jsonl
from assay.data.parquet import write_parquet
from assay.data.preference import Contamination, Doubles, Lengths, Overlap, preference_items, unique_best
from assay.data.principles import load_given
from assay.judges import Judge, build_judge
from assay.report.words import percent
from assay.synthetic.kinds import kinds_named
from assay.synthetic.oracle import completions
from assay.synthetic.record import SHAPES, Generated, Kind
from assay.synthetic.stream import Plan
from assay.synthetic.worked import Worked, read_worked, worked_kind

from .data import CheckFlags, GenerateFlags, StatsFlags
from .overwriting import refuse_overwriting

T = TypeVar("T")

Reading = Callable[[Generated], Judge | None]
"""The judge in the form that reads an item; None where it reads none of its shape."""

console = Console()
_WRITERS = {".jsonl": write_jsonl, ".parquet": write_parquet}


def generate_data(flags: GenerateFlags) -> None:
    """Write the items of a slice, and the oracle's texts."""
    write = _WRITERS.get(flags.out.suffix)
    if write is None:
        raise InputError(f"--out {str(flags.out)!r} must end in .jsonl or .parquet")
    if flags.out.exists() and not flags.fresh:
        raise InputError(f"--out {str(flags.out)!r} is there already: name another file, or write over it with --fresh")
    refuse_overwriting((flags.worked, flags.principles), (("--out", flags.out),))
    if flags.judge is None and (flags.target != "full" or flags.judge_options):
        raise InputError("--target and --judge-options say how a judge is written for: they need --judge")
    judge = _oracle_judge(flags)
    rows = (row for one in _items(flags) for row in _rows(one, flags, judge))
    with _progress("generating", flags.count) as advance:
        written = write(flags.out, _counted(rows, advance))
    left_out = flags.count - written
    told = f", {left_out} that the judge cannot read left out" if left_out else ""
    console.print(f"{written} items in {flags.out}{told}", highlight=False, soft_wrap=True)


def _items(flags: GenerateFlags) -> Iterator[Generated]:
    """The slice; with ``each``, one of each kind or group in turn."""
    parts = [kinds_named([name]) for name in flags.kinds] if flags.each else [kinds_named(flags.kinds)]
    if flags.worked is not None:
        own = (_worked(flags.worked),)
        parts = [*parts, own] if flags.each else [(*parts[0], *own) if flags.kinds else own]
    plans = [
        Plan(
            kinds=kinds,
            shapes=flags.shapes or SHAPES,
            languages=flags.languages or ("en", "zh"),
            side=flags.side,
            seed=flags.seed,
        )
        for kinds in parts
    ]
    if not plans:
        raise InputError("--each needs kinds: name some with --kind")
    for number in range(flags.start, flags.start + flags.count):
        yield plans[number % len(plans)].item(number // len(plans))


def _worked(file: Path) -> Kind:
    """The worked solutions of a file as a kind. Raises InputError: a row that is none."""
    solutions: list[Worked] = []
    for record in open_source(str(file)).records:
        where = f"{str(file)!r}, line {record.line}"
        if isinstance(record, BadRecord):
            raise InputError(f"{where}: {record.reason}")
        question, answer = (record.row.get(name) for name in ("question", "answer"))
        if not isinstance(question, str) or not isinstance(answer, str):
            raise InputError(f"{where}: a worked solution has texts 'question' and 'answer'; there are {[*record.row]}")
        solutions.append(read_worked(question, answer, where))
    return worked_kind(solutions)


def _oracle_judge(flags: GenerateFlags) -> Reading | None:
    """How items are read; None: they are written alone. Raises InputError: principles for a judge that takes none."""
    options: dict[str, object] = dict(flags.judge_options)
    if flags.principles is not None:
        if flags.judge != "pointwise":
            raise InputError(f"--principles {str(flags.principles)!r} is for --judge pointwise")
        options["principles"] = load_given(flags.principles)
    return None if flags.judge is None else partial(_reading, name=flags.judge, options=options)


def _rows(generated: Generated, flags: GenerateFlags, reading: Reading | None) -> Iterator[dict[str, Any]]:
    row = item_to_row(generated.item)
    line = generated.line(range(generated.item.n))
    if line is not None:
        row["metadata"] = {**row["metadata"], "line": line}
    if reading is None:
        yield row
        return
    judge = reading(generated)
    if judge is None:
        return
    draw = Draw(vote=0, seed=0, order=tuple(range(generated.item.n)))
    prompt = judge.plan(generated.item, draw)[0].prompt
    if isinstance(prompt, ChatPrompt):
        row["prompt_messages"] = [{"role": one.role, "content": one.text} for one in prompt.messages]
    row["completion"] = completions(generated, judge, draw, target=flags.target)[0]
    yield row


def _reading(generated: Generated, *, name: str, options: Mapping[str, object]) -> Judge | None:
    """The judge in the form that reads this item; None where it reads none of its shape."""
    item = generated.item
    if name == "verifier" and (item.n != 1 or item.reference is None):
        return None
    if name == "pairwise" and item.n < 2:
        return None
    form = {"mode": "0-1" if item.n == 1 else "1-10"} if name == "pointwise" else {}
    return build_judge(name, **{"language": generated.language, **form, **options})


def show_stats(flags: StatsFlags) -> None:
    """Print a table, a source a row."""
    lengths = Lengths()
    bad = 0
    for source, item in _walk(flags):
        if isinstance(item, BadRecord):
            bad += 1
        else:
            lengths.add(item, source)
    console.print(_stats_table(lengths), highlight=False)
    _end(bad)


def _stats_table(lengths: Lengths) -> Table:
    table = Table(title="words: median/90 %/most")
    headings = ("source", "items", "candidates", "prompt", "answer", "best is longest", "best is first", "right")
    for heading in headings:
        left = heading == "source"
        table.add_column(heading, justify="left" if left else "right", no_wrap=left)
    for name, one in sorted(lengths.sources.items()):
        sizes = "-".join(str(size) for size in dict.fromkeys((min(one.sizes), max(one.sizes))))
        words = [_words(one.quartiles(what)) for what in ("prompts", "answers")]
        shares = [_share(one.longest, one.decided), _share(one.first, one.decided), _share(one.right, one.single)]
        table.add_row(name, f"{one.items:,}", sizes, *words, *shares)
    return table


def _words(found: tuple[float, ...] | None) -> str:
    return "-" if found is None else "/".join(f"{value:.0f}" for value in found)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "-"


@dataclass(slots=True)
class _Checked:
    """What became of the items."""

    bad: int = 0
    undecided: int = 0
    clean: int = 0
    overlaps: list[tuple[Item, Overlap]] = field(default_factory=list[tuple[Item, Overlap]])
    doubles: Doubles = field(default_factory=Doubles)


def check_data(flags: CheckFlags) -> None:
    """Count what should not be trained on; write the rest."""
    if flags.out is not None and flags.out.suffix != ".jsonl":
        raise InputError(f"--out {str(flags.out)!r} must end in .jsonl")
    refuse_overwriting((*flags.sources, *flags.against), (("--out", flags.out),))
    contamination = Contamination()
    for benchmark in flags.against:
        prompts = contamination.learn(benchmark, load_items(benchmark, need=()).items)
        console.print(f"{benchmark}: {prompts} prompts", highlight=False, soft_wrap=True)
    checked = _Checked()
    clean = _clean(flags, contamination, checked)
    if flags.out is None:
        for _ in clean:
            pass
    else:
        write_jsonl(flags.out, clean)
    _tell(flags, checked)


def _clean(flags: CheckFlags, contamination: Contamination, checked: _Checked) -> Iterator[dict[str, Any]]:
    for _, item in _walk(flags):
        if isinstance(item, BadRecord):
            checked.bad += 1
            continue
        overlap = contamination.find(item)
        if overlap is not None:
            checked.overlaps.append((item, overlap))
        elif checked.doubles.add(item) is None:
            decided = unique_best(item)
            if decided is None:
                checked.undecided += 1
            else:
                checked.clean += 1
                yield item_to_row(decided)


def _tell(flags: CheckFlags, checked: _Checked) -> None:
    for item, overlap in checked.overlaps[: flags.shown]:
        told = f"{item.id} shares {percent(overlap.share, 0)} of its runs with {overlap.benchmark}: {overlap.words}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    where = "" if flags.out is None else f" in {flags.out}"
    doubles = checked.doubles
    console.print(
        f"{checked.clean} clean items{where} · left out: {len(checked.overlaps)} with a prompt of a benchmark, "
        f"{doubles.exact} doubles, {doubles.normalised} that differ in case or marks only, "
        f"{checked.undecided} without a best",
        highlight=False,
        soft_wrap=True,
    )
    _end(checked.bad)


def _walk(flags: StatsFlags) -> Iterator[tuple[str, Item | BadRecord]]:
    """The items of all sources, with the name of their source."""
    fields = FieldMap.parse(flags.field) if flags.field else None
    for source in flags.sources:
        stem = Path(source).stem
        with _progress(stem, flags.limit) as advance:
            for item in _counted(islice(preference_items(source, fields), flags.limit), advance):
                yield stem, item


def _end(bad: int) -> None:
    if bad:
        console.print(f"[yellow]{bad} rows are no item and were skipped[/]", highlight=False)
        sys.exit(1)


@contextmanager
def _progress(label: str, total: int | None) -> Generator[Callable[[int], None]]:
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda many: bar.update(task, advance=many)


_EVERY = 256
"""The bar moves once in so many rows."""


def _counted(rows: Iterable[T], advance: Callable[[int], None]) -> Iterator[T]:
    for place, row in enumerate(rows, 1):
        yield row
        if place % _EVERY == 0:
            advance(_EVERY)
