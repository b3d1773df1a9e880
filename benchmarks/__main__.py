"""``make bench``: the benchmarks that need no GPU and few minutes, one after the other, each with its table.

python -m benchmarks [NAME ...]

What it leaves out, because it takes many minutes, Ray or a GPU, it lists at the end with the command of each.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = ("deduplication", "service_overhead", "embedded_prefix", "routing_simulation", "replay")
OTHERS = (
    ("ray_ingress.py", "what Ray costs on the way in; starts a local Ray, some minutes"),
    ("batch_invariance.py", "what it costs that votes follow from their seeds alone; a minute or more"),
    ("overload.py", "four times the capacity for a minute; two minutes"),
    ("soak.py", "memory over 200,000 requests; two minutes or more (with the verdict cache: --cache)"),
    (
        "chaos.py",
        "engines that die, hang and come back as others; a minute (real models: --engine embedded)",
    ),
    (
        "kill_resume.py",
        "training killed with kill -9, twenty times a mode; half an hour, on Ray longer (--mode ray-co-resident)",
    ),
    ("sglang_gpu/run.py life --model JUDGE --other OTHER --out OUT", "two judges on SGLang; one GPU, nine minutes"),
    ("sglang_gpu/run.py load --model JUDGE --out OUT", "the service over SGLang beside SGLang; one GPU, nine minutes"),
)
"""Arguments of the command, and what it is."""


def main() -> None:
    chosen = sys.argv[1:] or BENCHMARKS
    unknown = [name for name in chosen if not (HERE / f"{name}.py").exists()]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in chosen:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py"], check=True)
    if not sys.argv[1:]:
        print("== not run here")
        for arguments, what in OTHERS:
            print(f"python {HERE.name}/{arguments}\n    {what}")


if __name__ == "__main__":
    main()
