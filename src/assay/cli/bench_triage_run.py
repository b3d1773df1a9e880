"""``assay bench triage``, the work: wrong cases of a run into a file for a person, or the labels in it counted."""

from __future__ import annotations

from pathlib import Path

from assay.bench.triage.cases import sample, wrong_cases
from assay.bench.triage.counts import count
from assay.bench.triage.sheet import MEANING, is_sheet, read_sheet, write_sheet
from assay.core.errors import InputError
from assay.data import read_results
from assay.report.triage import print_triage

from .bench_triage import TriageFlags
from .showing import console, say

DEFAULT_OUT = Path("triage.csv")


def triage(flags: TriageFlags) -> None:
    """Run the verb, by what the file is."""
    if is_sheet(flags.file):
        _count(flags)
    else:
        _draw(flags)


def _draw(flags: TriageFlags) -> None:
    out = flags.out or DEFAULT_OUT
    if flags.as_json:
        raise InputError("--json prints the counts of a labelled file; this one is a run")
    cases = wrong_cases(read_results(flags.file), flags.by)
    drawn = sample(cases, flags.each, flags.seed)
    others = f"{cases.right} right, {cases.failed} failed, {cases.undecided} that labels do not decide"
    if not drawn:
        raise InputError(f"no wrong case in {str(flags.file)!r}: {others}")
    write_sheet(out, drawn, cases)
    for name, wrong in cases.by_stratum.items():
        say(f"{name}: {min(wrong, flags.each)} of {wrong} wrong cases")
    say(f"{len(drawn)} of {len(cases.wrong)} wrong cases in {out} (besides {others})")
    say("fill in the column class, then: assay bench triage " + str(out))
    for cause, meaning in MEANING.items():
        say(f"  {cause}: {meaning}")


def _count(flags: TriageFlags) -> None:
    if flags != TriageFlags(file=flags.file, as_json=flags.as_json):
        raise InputError(
            f"--out, --by, --each and --seed draw cases out of a run; {str(flags.file)!r} is a labelled file"
        )
    found = count(read_sheet(flags.file))
    if flags.as_json:
        print(found.model_dump_json(indent=2))
    else:
        print_triage(console, found)
