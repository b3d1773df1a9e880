"""Weights on their way from a trainer to engines: gathered and filled into one bucket at a time.

With several ranks all call the same methods in the same order, and all gather. Which of them fill buckets is said at
the beginning: those on the cards of an engine, where each of its ranks reads a bucket on its own card; else the first,
which also broadcasts. Owns buckets and groups. Does not own when an engine takes them, nor what its server is told
(``engines.feed``).
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
from .export import Gathered
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
        self._tensors: Iterator[Gathered] = iter(())
        self._fills = False
        self._flat: Tensor | None = None
        self._groups: dict[str, SendingGroup] = {}
        self._stop = threading.Event()

    def begin(self, version: str, *, fills: bool = True) -> None:
        """Begin with the first bucket. ``fills``: this rank does. Raises StartError: the trainer has other weights."""
        self._check(version)
        self._version, self._at, self._flat, self._fills = version, 0, None, fills
        self._stop.clear()
        self._tensors = self._trainer.gathered()

    def next(self, width: int) -> Bucket | None:
        """Fill the next bucket; None after the last.

        Args:
            width: how many readers on this machine find the bucket of this rank; 0 where it will be broadcast.

        Raises:
            StartError: the trainer went on meanwhile, or this rank has no memory for a bucket. It has gathered all the
                same, so that ranks stay together.
        """
        assert self._version is not None
        self._check(self._version)
        # Torch keeps memory that was shared until its readers have let go of it.
        self._flat = None
        if self._at == len(self._cuts):
            return None
        place, self._at = self._at, self._at + 1
        names = tuple(self._names[one] for one in self._cuts[place])
        self._flat = self._filled(names, self._sizes[place])
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
            if self._trainer.asleep:
                # The card is the engines' until the trainer wakes.
                torch.cuda.empty_cache()

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
        """The next weights in new memory; on a rank that fills none they are only gathered."""
        device, begin = self._trainer.policy.device, 0
        flat: Tensor | None = None
        failed: torch.OutOfMemoryError | None = None
        try:
            flat = self._empty(size) if self._fills else None
        except torch.OutOfMemoryError as error:
            failed = error
        for expected in names:
            each = next(self._tensors)
            assert each.name == expected
            if flat is None:
                continue
            try:
                # Of a trainer that sleeps they are in main memory, where the other type would need new memory as well.
                value = each.on(device, self._dtype)
                end = begin + value.numel() * value.element_size()
                flat[begin:end].view(self._dtype).copy_(value.reshape(-1))
            except torch.OutOfMemoryError as error:
                failed, flat = error, None
            else:
                begin = end
        if failed is not None:
            raise StartError(f"no memory for {size} bytes of weights: {failed}") from failed
        return flat

    def _empty(self, size: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8, device=self._trainer.policy.device)

    def _check(self, version: str) -> None:
        if self._trainer.weight_version != version:
            raise StartError(
                f"the trainer has weights {self._trainer.weight_version!r} by now, and {version!r} were asked for; "
                "the engine gets the next ones that are published"
            )
