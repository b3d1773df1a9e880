"""How a process on the same machine finds a tensor of this one: pickled as torch shares tensors, in SGLang's form.

Only names of torch, the standard library and plain values are in it, so that SGLang's safe unpickler takes it, and no
SGLang is needed here. On CUDA nothing but a handle travels; the memory is read in place. Weights on a CPU, which stands
for a card in a simulation, travel themselves. Nothing is unpickled here.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import reduce_tensor

_DEVICE = 6
"""Place of the device among the arguments by which torch rebuilds a CUDA tensor."""


def payload(flat: Tensor, names: Sequence[str], shapes: Sequence[tuple[int, ...]], dtype: torch.dtype) -> str:
    """Base64 of a bucket for one reader; a reader uses it once, and ``flat`` must live until it has.

    Args:
        flat: uint8, all weights one after the other.
    """
    entries, begin, item = [], 0, dtype.itemsize
    for name, shape in zip(names, shapes, strict=True):
        size = item * torch.Size(shape).numel()
        # What reads this looks at attributes; a class of SGLang's own would have to be importable here.
        entries.append(
            SimpleNamespace(
                name=name,
                shape=torch.Size(shape),
                dtype=dtype,
                start_idx=begin,
                end_idx=begin + size,
                numel=size,
            )
        )
        begin += size
    stream = io.BytesIO()
    pickler = ForkingPickler(stream)
    # The reader may number the cards otherwise, as it sees others of them.
    table: Any = pickler.dispatch_table
    table[Tensor] = _reduced
    pickler.dump({"flattened_tensor": flat, "metadata": entries})
    return base64.b64encode(stream.getvalue()).decode("ascii")


def _reduced(tensor: Tensor) -> tuple[Any, ...]:
    if not tensor.is_cuda:
        # A handle would be good for children of this process only.
        stream = io.BytesIO()
        torch.save(tensor, stream)
        return torch.storage._load_from_bytes, (stream.getvalue(),)  # pyright: ignore[reportPrivateUsage]
    rebuild, arguments = reduce_tensor(tensor)
    card = str(torch.cuda.get_device_properties(tensor.device).uuid)
    return rebuild, (*arguments[:_DEVICE], card, *arguments[_DEVICE + 1 :])
