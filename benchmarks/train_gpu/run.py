"""``assay train`` with SGLang on one card or two, in every layout that fits; one table at the end.

    python -m benchmarks.train_gpu.run --judge JUDGE_MODEL_FOLDER --out OUT --layouts beside,co-resident,defer-swap
    python -m benchmarks.train_gpu.run --judge JUDGE_MODEL_FOLDER --out OUT --layouts beside,fully-async,split

The policy is the bundled SmolLM2-135M. What each run says of itself stands in ``OUT/<layout>/metrics.jsonl``; what the
planner said of it, before it began, in ``OUT/<layout>.plan.json``, with the speeds of the layouts before it.
``beside`` (one process, no moves) has no plan: it measures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from assay.engines.embedded.finding import find_model

from .layouts import LAYOUTS, PROMPTS, SAMPLES, flags, sums
from .prediction import predict, workload
from .table import markdown

RUN = (
    "import asyncio, json, sys; from pathlib import Path; from assay.rl.config import TrainConfig; "
    "from assay.rl.run import RunResult, train; c = TrainConfig(**json.loads(Path(sys.argv[1]).read_text())); "
    "asyncio.run(train(c, RunResult(run_dir=c.run_dir)))"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layouts", default="beside,co-resident,defer-swap", help=", ".join(LAYOUTS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--weight-sync", default=None)
    parser.add_argument("--measured", type=Path, action="append", default=[], help="a run on such cards, for speeds")
    parser.add_argument("--limit-s", type=float, default=240.0, help="seconds of one layout, start included")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    data = sums(options.out / "sums.jsonl")
    policy = find_model("smollm2-135m-instruct")
    done: list[Path] = list(options.measured)
    for layout in options.layouts.split(","):
        run = options.out / layout
        sync = options.weight_sync
        settings = flags(layout, data, run, judge=options.judge, steps=options.steps, sync=sync)
        if "cluster" in settings:
            work = workload(PROMPTS, SAMPLES, 8, 110)
            predict(settings, policy, Path(options.judge), work, options.out / f"{layout}.plan.json", done)
        if run_layout(layout, settings, options.out, options.limit_s):
            done.append(run)
    text = markdown(options.out, options.layouts.split(","))
    (options.out / "table.md").write_text(text)
    print(text)


def run_layout(layout: str, settings: dict[str, Any], out: Path, limit_s: float) -> bool:
    """Run a layout in a process of its own; whether it made steps. Its log is shown where it fails."""
    recipe = out / f"{layout}.json"
    recipe.write_text(json.dumps(settings, indent=1))
    begin = time.monotonic()
    with (out / f"{layout}.log").open("wb") as log:
        command = [sys.executable, "-c", RUN, str(recipe)]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.terminate()  # it closes its engines
            code = -1
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    print(f"{layout}: exit {code} after {time.monotonic() - begin:.0f} s", flush=True)
    if code:
        print((out / f"{layout}.log").read_text(errors="replace")[-3000:], flush=True)
    return (out / layout / "metrics.jsonl").exists()


if __name__ == "__main__":
    main()
