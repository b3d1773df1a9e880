"""Every benchmark by its name."""

from __future__ import annotations

import difflib

from assay.core.errors import InputError

from .benchmark import Benchmark
from .benchmarks.judgebench import JUDGEBENCH, JUDGEBENCH_CLAUDE
from .benchmarks.own import own
from .benchmarks.pandalm import PANDALM
from .benchmarks.ppe import PPE_CORRECTNESS, PPE_PREFERENCE
from .benchmarks.ppe_best_of_k import PPE_BEST_OF_K
from .benchmarks.realmistake import REALMISTAKE
from .benchmarks.rewardbench import REWARDBENCH
from .benchmarks.rewardbench2 import REWARDBENCH2
from .benchmarks.rmb import RMB, RMB_PAIRS
from .benchmarks.rmbench import RMBENCH

BENCHMARKS: dict[str, Benchmark] = {
    "rewardbench": REWARDBENCH,
    "rewardbench2": REWARDBENCH2,
    "ppe-preference": PPE_PREFERENCE,
    "ppe-correctness": PPE_CORRECTNESS,
    "ppe-best-of-k": PPE_BEST_OF_K,
    "rmb": RMB,
    "rmb-pairs": RMB_PAIRS,
    "realmistake": REALMISTAKE,
    "judgebench": JUDGEBENCH,
    "judgebench-claude": JUDGEBENCH_CLAUDE,
    "rmbench": RMBENCH,
    "pandalm": PANDALM,
    "pairs": own("pairs"),
    "bon": own("bon"),
    "single": own("single"),
}


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        InputError: there is none; the nearest one is named.
    """
    found = BENCHMARKS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, list(BENCHMARKS), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(BENCHMARKS)}"
        raise InputError(f"unknown benchmark {name!r}: {hint}")
    return found
