"""Weights on their way from one rank of a trainer to engines: gathered and filled into one bucket at a time.

With several ranks all call the same methods in the same order; only the first fills buckets and sends. Owns buckets and
groups. Does not own when an engine takes them, nor what its server is told (``engines.feed``).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from assay.core.errors import StartError
from assay.engines.feed import Bucket, Group

from .broadcasting import SendingGroup
from .cuts import cut
from .handles import payload

if TYPE_CHECKING:
    from .trainer import Trainer

log = logging.getLogger(__name__)


class Dispatch:
    """See the module. One delivery at a time.

    Args:
        dtype: what the engine computes in, by torch's name; None is the trainer's.
        bucket_bytes: most bytes of a bucket; a weight that is larger goes alone.
        limit_s: most seconds for one bucket, and for the meeting of a group.
    """

    def __init__(self, trainer: Trainer, *, dtype: str | None, bucket_bytes: int, limit_s: float) -> None:
        self._trainer = trainer
        self._dtype: torch.dtype = trainer.policy.compute if dtype is None else getattr(torch, dtype)
        self._limit_s = limit_s
        self.shapes = trainer.outline()
        self._names = tuple(self.shapes)
        sizes = [self._dtype.itemsize * torch.Size(shape).numel() for shape in self.shapes.values()]
        self._cuts = cut(sizes, bucket_bytes)
        self._sizes = [sum(sizes[place] for place in one) for one in self._cuts]
        self._at = 0
        self._version: str | None = None
        self._tensors: Iterator[tuple[str, Tensor]] = iter(())
        self._flat: Tensor | None = None
        self._groups: dict[str, SendingGroup] = {}
        self._stop = threading.Event()

    def begin(self, version: str) -> None:
        """Begin with the first bucket. Raises StartError: the trainer has other weights."""
        self._check(version)
        self._version, self._at, self._flat = version, 0, None
        self._stop.clear()
        # Of a trainer that sleeps they come out of main memory, where the other type would need new memory as well.
        device = self._trainer.policy.device
        self._tensors = self._trainer.named_tensors(dtype=self._dtype, device=device)

    def next(self, width: int) -> Bucket | None:
        """Fill the next bucket; None after the last.

        Args:
            width: for how many readers on this machine; 0 where the bucket will be broadcast.

        Raises:
            StartError: the trainer went on meanwhile, or has no memory for a bucket.
        """
        assert self._version is not None
        self._check(self._version)
        # Torch keeps memory that was shared until its readers have let go of it.
        self._flat = None
        if self._at == len(self._cuts):
            return None
        place, self._at = self._at, self._at + 1
        names = tuple(self._names[one] for one in self._cuts[place])
        try:
            self._flat = self._filled(names, self._sizes[place])
        except torch.OutOfMemoryError as error:
            raise StartError(f"no memory for {self._sizes[place]} bytes of weights: {error}") from error
        shapes = tuple(self.shapes[name] for name in names)
        flat = self._flat
        return Bucket(
            names=names,
            shapes=shapes,
            dtype=str(self._dtype).removeprefix("torch."),
            size=self._sizes[place],
            last=self._at == len(self._cuts),
            payloads=() if flat is None else tuple(payload(flat, names, shapes, self._dtype) for _ in range(width)),
        )

    def end(self) -> None:
        """The delivery is over, however it went."""
        self._tensors, self._flat, self._version = iter(()), None, None
        if self._trainer.policy.device.type == "cuda":
            torch.cuda.ipc_collect()

    def offer(self, name: str, host: str, engines: int) -> Group | None:
        """A new process group with so many ranks of an engine: where to meet, from the first rank."""
        if not self._trainer.ranks.first:
            return None
        backend = "nccl" if self._trainer.policy.device.type == "cuda" else "gloo"
        group = SendingGroup(name, host=host, size=1 + engines, backend=backend, limit_s=self._limit_s)
        self._groups[name] = group
        return group.told

    def meet(self, name: str) -> None:
        """Meet the engine. Raises StartError."""
        if self._trainer.ranks.first:
            self._groups[name].meet()

    def broadcast(self, name: str) -> None:
        """Send the bucket that was filled last. Raises StartError; then the group is gone."""
        if self._flat is None:
            return
        self._groups[name].broadcast(self._flat, self._stop)

    def stop(self) -> None:
        """End a broadcast that goes on in another thread."""
        self._stop.set()

    def leave(self, name: str) -> None:
        """Give up a group; fine where there is none."""
        group = self._groups.pop(name, None)
        if group is not None:
            group.abort()

    def close(self) -> None:
        """Give up all groups."""
        for name in list(self._groups):
            self.leave(name)

    def _filled(self, names: tuple[str, ...], size: int) -> Tensor | None:
        """The next weights in new memory; on other ranks than the first they are only gathered."""
        first = self._trainer.ranks.first
        flat = torch.empty(size if first else 0, dtype=torch.uint8, device=self._trainer.policy.device)
        begin = 0
        for expected in names:
            name, value = next(self._tensors)
            assert name == expected
            if first:
                end = begin + value.numel() * value.element_size()
                flat[begin:end].view(self._dtype).copy_(value.reshape(-1))
                begin = end
        return flat if first else None

    def _check(self, version: str) -> None:
        if self._trainer.weight_version != version:
            raise StartError(
                f"the trainer has weights {self._trainer.weight_version!r} by now, and {version!r} were asked for; "
                "the engine gets the next ones that are published"
            )
