"""The GPUs that this process may use, by the names that its children need.

A plan counts GPUs from 0; ``CUDA_VISIBLE_DEVICES`` says which cards those are (on a machine that several jobs share).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from assay.core.errors import InputError

VARIABLE = "CUDA_VISIBLE_DEVICES"


def gpu_names(indices: Sequence[int], visible: str | None = None) -> tuple[int | str, ...]:
    """What ``nvidia-smi`` calls the GPUs that a plan counts as ``indices``: a number, or a UUID.

    Args:
        visible: as in ``CUDA_VISIBLE_DEVICES``; None takes this process's own, and without one all GPUs are visible.

    Raises:
        InputError: a GPU beyond those that are visible.
    """
    said = os.environ.get(VARIABLE) if visible is None else visible
    if said is None:
        return tuple(indices)
    there = [one.strip() for one in said.split(",") if one.strip()]
    beyond = [index for index in indices if index >= len(there)]
    if beyond:
        raise InputError(
            f"GPU {beyond[0]} is asked for, and {VARIABLE}={said!r} shows {len(there)}: "
            "show more of them, or ask for fewer"
        )
    return tuple(int(there[index]) if there[index].isdecimal() else there[index] for index in indices)
