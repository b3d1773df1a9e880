"""``make bench``: the benchmarks that need no GPU and few minutes, one after the other, each with its table.

python -m benchmarks [NAME ...]

All others are named at the end: why they were skipped, what they show, and the command of each.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = (
    "deduplication",
    "service_overhead",
    "embedded_prefix",
    "routing_simulation",
    "replay",
    "bootstrap_speed",
    "voting_simulation",
    "rollout_overlap",
    "synthetic_speed",
    "sft_encoding",
)
SKIPPED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "takes minutes": (
        ("-m benchmarks.shipped_judge.run rules", "answers called equal by rules that read no model; three minutes"),
        ("-m benchmarks.shipped_judge.run engine --adapter ADAPTER --out DIR", "the judge as users run it; hours"),
        ("batch_invariance.py", "what it costs that votes follow from their seeds alone; a minute or more"),
        ("voting_prefix.py", "prompt tokens of votes by the orders of their candidates; two minutes or more"),
        ("overload.py", "four times the capacity for a minute; two minutes"),
        ("soak.py", "memory over 200,000 requests; two minutes or more (with the verdict cache: --cache)"),
        ("chaos.py", "engines that die, hang and come back as others; a minute (real models: --engine embedded)"),
        ("train_step.py", "one update beside TRL's, which must be installed (without it: --no-trl); many minutes"),
        ("kill_resume.py", "training killed with kill -9, twenty times a mode; half an hour"),
        ("confident_calibration.py", "the constants of the stopping rule, the same on every machine; long"),
    ),
    "wants an environment of its own": (
        ("rewardbench_official.py", "the official rewardbench package on the same scores; --help tells how, a minute"),
    ),
    "starts a Ray": (
        ("ray_ingress.py", "what Ray costs on the way in; some minutes"),
        ("kill_resume.py --mode ray-co-resident", "the same kills with ranks and engines as actors; longer"),
    ),
    "needs a GPU": (
        ("heads_gpu.py", "every reward model on one card, and its logits in SGLang; --help tells how"),
        ("sft_throughput.py", "tokens a second of fine-tuning, and where the time goes; a minute"),
        ("-m benchmarks.shipped_judge.run fast --adapter ADAPTER --out fast.json", "judges compared; a minute"),
    ),
    "needs a GPU with SGLang": (
        ("sglang_gpu/run.py life --model JUDGE --other OTHER --out OUT", "two judges on one card; nine minutes"),
        ("sglang_gpu/run.py load --model JUDGE --out OUT", "the service beside SGLang itself; nine minutes"),
        ("-m benchmarks.train_gpu.run --judge JUDGE --out OUT --layouts beside,co-resident,defer-swap", "one card"),
        ("-m benchmarks.train_gpu.run --judge JUDGE --out OUT --layouts beside,fully-async,split", "two cards"),
        ("-m benchmarks.eight_gpus.run --out OUT --cards 8", "the seeds' layouts on eight cards, or on four"),
    ),
}
"""Why; then the arguments of each command, and what it shows."""
PARTS = ("png_chart.py", "stopping_simulation.py", "killing")
"""What is no benchmark by itself, but a part of others."""


def main() -> None:
    chosen = sys.argv[1:] or BENCHMARKS
    unknown = [name for name in chosen if not (HERE / f"{name}.py").exists()]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in chosen:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py"], check=True)
    if not sys.argv[1:]:
        for why, commands in SKIPPED.items():
            print(f"== skipped: {why}")
            for arguments, what in commands:
                print(f"{_command(arguments)}\n    {what}")


def _command(arguments: str) -> str:
    return f"python {arguments}" if arguments.startswith("-m ") else f"python {HERE.name}/{arguments}"


if __name__ == "__main__":
    main()
