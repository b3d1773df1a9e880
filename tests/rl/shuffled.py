"""The control of the demo: right answers earn 1, and then the rewards of a group are dealt out again at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from assay.core.seeds import digest


def shuffled(args: Any, samples: Sequence[Any]) -> list[float]:
    """As many ones as there are right answers, on answers that have nothing to do with it."""
    earned = [float(sample.response == sample.label) for sample in samples]
    random.Random(digest([samples[0].group_index, samples[0].prompt])).shuffle(earned)
    return earned
