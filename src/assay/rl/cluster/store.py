"""Weights in Ray's object store: as plain bytes, so that all engines of a node read one copy of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Packed: TypeAlias = "dict[str, tuple[str, tuple[int, ...], Any]]"
"""Type, shape and bytes (a numpy array of uint8) by name. numpy has no bfloat16, and Ray shares numpy's memory only."""

STORE = "ray-object-store:"
"""What a source of weights begins with that are in Ray's object store; the version follows."""


@dataclass(slots=True)
class Shelf:
    """The weights in Ray's object store that were published last, also for engines that are built later."""

    reference: Any = None


def pack(tensor: Tensor) -> tuple[str, tuple[int, ...], Any]:
    """A copy of the tensor, in main memory."""
    import torch

    whole = tensor.detach().to("cpu", copy=True).contiguous()
    return str(whole.dtype).removeprefix("torch."), tuple(whole.shape), whole.reshape(-1).view(torch.uint8).numpy()


def unpacked(packed: Packed) -> Iterator[tuple[str, Tensor]]:
    """The tensors. They must not be written to: others read the same memory."""
    import torch

    for name, (dtype, shape, data) in packed.items():
        with warnings.catch_warnings():
            # torch knows no memory that may only be read.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            flat = torch.from_numpy(data)
        yield name, flat.view(getattr(torch, dtype)).reshape(shape)
