"""A run that trains and saves, and goes on from its last checkpoint: ``python resume_worker.py FOLDER STEPS``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from assay.training import folders
from assay.training.config import TrainerConfig
from assay.training.objective import PolicyObjective
from assay.training.trainer import Trainer


def run(root: Path, steps: int, made: Any) -> Trainer:
    """Train up to ``steps``, saving after each; ``made``: the tests' models and batches."""
    known = folders.checkpoints(root)
    config = TrainerConfig(lr=1e-3, save=str(root), load=str(root) if known else None)
    trainer = Trainer(config, model=made.tiny())
    done = int(trainer.extra) if isinstance(trainer.extra, int) else 0
    for step in range(done, steps):
        trainer.step(made.batch(step), PolicyObjective())
        print(f"saving {step + 1}", flush=True)
        trainer.save(extra=step + 1)
    return trainer


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from ranks_worker import made as find_made

    run(Path(sys.argv[1]), int(sys.argv[2]), find_made())
