"""``make bench``: the benchmarks that need no GPU, one after the other, each with its table.

python -m benchmarks [NAME ...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = ("deduplication", "service_overhead", "embedded_prefix")


def main() -> None:
    chosen = sys.argv[1:] or BENCHMARKS
    unknown = [name for name in chosen if not (HERE / f"{name}.py").exists()]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in chosen:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py"], check=True)


if __name__ == "__main__":
    main()
