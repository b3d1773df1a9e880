"""``assay train`` killed with ``kill -9`` at random moments, and gone on with by the same command until it ends.

    python benchmarks/kill_resume.py [--mode now ...] [--kills 20] [--seed 0] [--driver-only] [--out FOLDER]

Per mode one run is left alone; then runs of the same settings are killed, each as often as it takes, until there were
so many kills. The places where they come are taken in turn (the start, moves, rollout, judging, training, the sync of
weights, the writing of samples and lines, a save, the end), the moment within each is drawn. In the colocate modes
what a killed run leaves is compared with the run that was left alone, bit by bit: the lines of metrics without times,
the Parquet files, the exported weights, the last checkpoint with its optimizer. In the fully asynchronous ones, where
no two runs are alike, every answer must have been trained on once, no prompt lost, none too old.
Exit status 1 where anything differs, or where a process outlives its run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from rich.console import Console
from rich.table import Table

from killing.compare import accounts, differences, trained
from killing.modes import ASYNC, INTERVAL, MODES, STALENESS, STEPS, write_models, write_recipe
from killing.runner import Launch, draw, launch, left_over, lengths

console = Console(width=None if sys.stdout.isatty() else 110)


@dataclass
class Found:
    """What came of a mode."""

    mode: str
    places: Counter[str] = field(default_factory=Counter[str])
    runs: int = 0
    wrong: Counter[str] = field(default_factory=Counter[str])
    checked: dict[str, int] = field(default_factory=dict[str, int])
    left: list[str] = field(default_factory=list[str])

    @property
    def kills(self) -> int:
        return sum(self.places.values())

    def check(self, equal: dict[str, bool]) -> None:
        self.runs += 1
        for name, fine in equal.items():
            self.checked[name] = self.checked.get(name, 0) + 1
            self.wrong[name] += not fine


def kill_mode(mode: str, models: Path, folder: Path, *, kills: int, seed: int, group: bool) -> Found:
    """All runs of a mode."""
    found, random_ = Found(mode), random.Random(f"{seed} {mode}")
    folder.mkdir(parents=True)
    whole = write_recipe(mode, models, folder / "whole")
    alone = ended(launch(whole, None))
    if not trained(folder / "whole"):
        sys.exit(f"{mode}: the run that was left alone trained on nothing, so that equal weights would show nothing")
    places = lengths(alone)
    order = sorted(places)
    random_.shuffle(order)
    turn = cycle(order)
    place = next(turn)
    while found.kills < kills:
        recipe = write_recipe(mode, models, folder / f"killed-{found.runs}")
        launches, over = 0, False
        while not over:
            moment = draw(random_, place, places, STEPS) if found.kills < kills else None
            done = launch(recipe, moment, group=group)
            launches += 1
            if done.killed and moment is not None:
                found.places[place] += 1
                place = next(turn)
                found.left += left_over(recipe)
            else:
                ended(done)
                over = True
        run = recipe.with_suffix("")
        equal = accounts(run, STALENESS) if mode in ASYNC else differences(run, recipe, folder / "whole", whole)
        found.check(equal)
        told = ", ".join(name if fine else f"NOT {name}" for name, fine in equal.items())
        console.print(f"{mode}: a run of {launches} processes, {found.kills} kills so far: {told}", highlight=False)
    return found


def ended(done: Launch) -> Launch:
    if done.status:
        sys.exit(f"a run ended by itself with status {done.status}:\n{done.said[-3000:]}")
    return done


def shown(found: list[Found]) -> Table:
    table = Table(title=f"kill -9 and the same command again; runs of {STEPS} steps, a checkpoint every {INTERVAL}")
    for name in ("mode", "killed in", "right"):
        table.add_column(name, no_wrap=name == "mode")
    for name in ("kills", "runs", "wrong", "left over"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        where = ", ".join(f"{place} {count}" for place, count in sorted(one.places.items()))
        same = ", ".join(f"{name} {count - one.wrong[name]}/{count}" for name, count in one.checked.items())
        counts = (one.kills, one.runs, one.wrong.total(), len(one.left))
        table.add_row(one.mode, where, same, *map(str, counts))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", nargs="*", choices=MODES, default=[m for m in MODES if not m.startswith("ray-")])
    parser.add_argument("--kills", type=int, default=20, help="of each mode")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--driver-only", action="store_true", help="kill the one process, not its process group")
    parser.add_argument("--out", type=Path, help="keep what the runs leave in this folder, which must be empty")
    args = parser.parse_args()
    out = args.out or Path(tempfile.mkdtemp(prefix="assay-kill-"))
    out.mkdir(parents=True, exist_ok=True)
    models = out / "models"
    write_models(models)
    found: list[Found] = []
    for mode in args.mode:
        with console.status(f"{mode}: {args.kills} kills"):
            one = kill_mode(mode, models, out / mode, kills=args.kills, seed=args.seed, group=not args.driver_only)
        found.append(one)
        for process in one.left:
            console.print(f"{mode}: outlived its run: {process}", markup=False)
    console.print(shown(found))
    if args.out is None:
        shutil.rmtree(out)
    sys.exit(any(one.wrong.total() or one.left for one in found))


if __name__ == "__main__":
    main()
