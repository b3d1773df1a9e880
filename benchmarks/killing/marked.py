"""``assay`` as it is, but for a pipe into which it writes where it is: ``python marked.py train ...``.

Whoever kills it can so kill it within a save that takes milliseconds. A line is written where a thing begins: the moves
before a phase, the phase, a judgment, the writing of samples and of the step's line, an evaluation, a save.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from assay.cli.main import main
from assay.placement.plans import Phase
from assay.rl.cluster.trainer import RayTrainer
from assay.rl.evaluation import Evaluation
from assay.rl.local.trainer import LocalTrainer
from assay.rl.record import SampleRecord
from assay.rl.residency import Residency
from assay.rl.rollout.groups import Groups
from assay.tracking.lines import MetricLines

PIPE = "ASSAY_MARKS"
"""The variable that holds the pipe's descriptor."""


def install(descriptor: int) -> None:
    """Have the parts of a run say when they begin."""

    def mark(place: str) -> None:
        os.write(descriptor, f"{place}\n".encode())

    def begins(owner: type[Any], name: str, place: str) -> None:
        work = getattr(owner, name)

        @wraps(work)
        def marked(*given: Any, **named: Any) -> Any:
            mark(place)
            return work(*given, **named)

        setattr(owner, name, marked)

    begins(Groups, "judged", "judge")
    begins(Evaluation, "measure", "eval")
    begins(SampleRecord, "after", "samples")
    begins(MetricLines, "write", "line")
    begins(LocalTrainer, "save", "save")
    begins(RayTrainer, "save", "save")
    enter: Callable[[Residency, Phase], Awaitable[Any]] = Residency.enter

    async def entered(self: Residency, phase: Phase) -> Any:
        mark("moves")
        moved = await enter(self, phase)
        mark(str(phase.kind))
        return moved

    Residency.enter = entered  # type: ignore[method-assign]


if __name__ == "__main__":
    install(int(os.environ[PIPE]))
    main()
