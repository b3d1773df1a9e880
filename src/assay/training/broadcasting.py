"""A process group of this process and the ranks of one engine, which is no part of any group that trains.

SGLang joins such groups by the way torch makes its default one; here the same is done beside the default one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from assay.core.errors import StartError
from assay.engines.feed import GROUP_ENVIRONMENT, Group

_POLL_S = 0.002
_ABORT_S = 5.0

log = logging.getLogger(__name__)


class SendingGroup:
    """Rank 0 of a group. Made in two steps: others can be told where it is before all meet."""

    def __init__(self, name: str, *, host: str, size: int, backend: str, limit_s: float) -> None:
        for key, value in GROUP_ENVIRONMENT.items():
            os.environ.setdefault(key, value)
        self._limit_s = limit_s
        self._pg: Any = None
        try:
            self._store = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
                host, 0, size, is_master=True, timeout=timedelta(seconds=limit_s), wait_for_workers=False
            )
        except (RuntimeError, ValueError) as error:
            raise StartError(f"no process group can be made on {host}: {error}") from error
        self.told = Group(name=name, host=host, port=self._store.port, size=size, backend=backend)

    def meet(self) -> None:
        """Meet the others; they have been told. Raises StartError."""
        from torch.distributed import distributed_c10d as c10d

        told = self.told
        try:
            self._pg, _ = c10d._new_process_group_helper(  # pyright: ignore[reportPrivateUsage]
                told.size,
                0,
                [],
                dist.Backend(told.backend),
                dist.PrefixStore(told.name, self._store),  # pyright: ignore[reportPrivateImportUsage]
                group_name=told.name,  # pyright: ignore[reportArgumentType]
                timeout=timedelta(seconds=self._limit_s),
            )
            # Torch looks this up when a group ends.
            c10d._world.pg_group_ranks[self._pg] = {  # pyright: ignore[reportPrivateUsage]
                rank: rank for rank in range(told.size)
            }
        except (RuntimeError, ValueError) as error:
            raise StartError(f"the engine did not come into process group {told.name!r}: {error}") from error

    def broadcast(self, flat: Tensor, stop: threading.Event) -> None:
        """Send to all; returns once ``flat`` may be written to. Whoever sets ``stop`` ends it.

        Raises:
            StartError: it was stopped, took too long, or failed; then the group is of no more use.
        """
        options = dist.BroadcastOptions()
        options.rootRank = 0
        options.rootTensor = 0
        try:
            work = self._pg.broadcast([flat], options)
            until = time.monotonic() + self._limit_s
            while not work.is_completed():
                if stop.is_set() or time.monotonic() > until:
                    why = "was stopped" if stop.is_set() else f"was not done after {self._limit_s:g} s"
                    raise StartError(f"the broadcast in {self.told.name!r} {why}")
                time.sleep(_POLL_S)
            work.wait()
            if flat.is_cuda:
                torch.cuda.current_stream(flat.device).synchronize()
        except RuntimeError as error:
            raise StartError(f"the broadcast in {self.told.name!r} failed: {error}") from error

    def abort(self) -> None:
        """End it, whatever it does; fine when it has ended. Does not wait for long where that takes long."""
        group, self._pg = self._pg, None
        if group is not None:
            # gloo ends with what it is sending, or with that one's time; whoever trains has better things to do.
            ending = threading.Thread(target=_end, args=(group,), daemon=True, name="assay-group-end")
            del group
            ending.start()
            ending.join(_ABORT_S)


def _end(group: Any) -> None:
    from torch.distributed import distributed_c10d as c10d

    try:
        c10d._abort_process_group(group)  # pyright: ignore[reportPrivateUsage]
    except (RuntimeError, ValueError) as error:
        log.warning("a process group did not end well: %s", error)
