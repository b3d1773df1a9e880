"""``assay train`` in the seeds' layouts on four or eight cards, one after the other, and one table at the end.

    python -m benchmarks.eight_gpus.run --out OUT [--cards 8] [--layouts split,co-resident,...] [--steps 6]

The policy is the bundled model, so that it learns; judges are drawn at random, with heads that divide by eight, and
span their cards by tensor parallelism. The trainer is FSDP2 over all of its cards; weights go by handles or NCCL
(without NVLink multicast). What the planner says of a layout is written before it runs. ``--prepare`` only draws the
judge and writes the data. ``--check`` plans every layout and runs none: it needs no card.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from assay.engines.embedded.finding import find_model
from assay.placement import JudgeLoad, Workload

from ..train_gpu.layouts import sums
from ..train_gpu.prediction import predict, predicted, steps
from ..train_gpu.run import run_layout
from ..train_gpu.table import markdown
from . import cards
from .layouts import LAYOUTS, LONGEST, PROMPTS, SAMPLES, claims, settings
from .models import draw_judge

TOLERANCE = 0.05
"""Mean reward of a step, in which layouts with the same seed may differ: bf16 engines that batch otherwise."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cards", type=int, default=8, choices=(4, 8))
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--limit-s", type=float, default=200.0, help="seconds of one layout, start included")
    parser.add_argument("--measured", type=Path, action="append", default=[], help="a run on such cards, for speeds")
    parser.add_argument("--policy", default="smollm2-135m-instruct")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    data = sums(options.out / "sums.jsonl")
    policy = find_model(options.policy)
    judge = draw_judge(policy, options.out / "judge")
    names = options.layouts.split(",")
    done: list[Path] = list(options.measured)
    for layout in [] if options.prepare else names:
        said = settings(
            layout,
            options.cards,
            data=data,
            run=options.out / layout,
            policy=str(policy),
            judge=str(judge),
            steps=options.steps,
        )
        plan = options.out / f"{layout}.plan.json"
        predict(said, policy, judge, workload(), plan, done)
        print(f"{layout}: {claims(layout, options.cards)}, predicted {predicted(plan).seconds:.2f} s", flush=True)
        if not options.check and measured(layout, said, options.out, options.limit_s):
            done.append(options.out / layout)
    if not (options.prepare or options.check):
        text = table(options.out, names)
        (options.out / "table.md").write_text(text)
        print(text)


def workload() -> Workload:
    """The work of one step."""
    load = JudgeLoad(prompt_tokens=110, response_tokens=1)
    return Workload(prompts=PROMPTS, samples=SAMPLES, prompt_tokens=45, response_tokens=LONGEST, spread=0.0, judge=load)


def measured(layout: str, said: dict[str, Any], out: Path, limit_s: float) -> bool:
    """Run a layout while the cards are watched; whether it made steps."""
    begin = time.monotonic()
    with cards.watched(out / f"{layout}.cards.csv"):
        made = run_layout(layout, said, out, limit_s)
    print(f"{layout}: {time.monotonic() - begin:.0f} s", flush=True)
    return made


def table(out: Path, names: list[str]) -> str:
    """Phases and predictions, then what each card did, then how far the rewards of the layouts are apart."""
    ran = [name for name in names if (out / name / "metrics.jsonl").exists()]
    parts = [markdown(out, names, samples=PROMPTS * SAMPLES)] if ran else ["no layout made a step\n"]
    for name in ran:
        watched = out / f"{name}.cards.csv"
        if watched.exists():
            found = cards.read(watched.read_text(), share=_share(out / name, watched)).items()
            parts.append(
                f"{name}: " + "; ".join(f"card {i}: idle {c.idle:.0%}, {c.least}-{c.most} MiB" for i, c in found)
            )
    parts.append(agreement({name: steps(out / name) for name in ran if name in ("split", "co-resident", "defer-swap")}))
    return "\n".join(parts) + "\n"


def agreement(runs: dict[str, list[dict[str, float]]]) -> str:
    """The first step, before rounding has a history: equal seeds give equal prompts and about equal rewards."""
    first = {name: found[0] for name, found in runs.items() if found}
    if len(first) < 2:
        return ""
    apart = {key: _range([one[key] for one in first.values() if key in one]) for key in ("reward/mean", "train/loss")}
    verdict = "within" if apart["reward/mean"] <= TOLERANCE else "BEYOND"
    told = ", ".join(f"{key} differ by {value:.2g}" for key, value in apart.items())
    return f"first step of {', '.join(first)}: {told}; {verdict} the tolerance of {TOLERANCE} in the reward"


def _range(values: list[float]) -> float:
    return max(values) - min(values) if values else float("nan")


def _share(run: Path, watched: Path) -> float:
    """The share of the readings that fall into the steps."""
    seconds = sum(line["time/step"] for line in steps(run)[1:])
    readings = {line.split(",")[0] for line in watched.read_text().splitlines()}
    return min(1.0, seconds / max(0.5, 0.5 * len(readings)))


if __name__ == "__main__":
    main()
