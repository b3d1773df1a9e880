"""How much memory the cards hold and who holds it, through NVML. No package is needed: the driver brings the library.

NVML numbers cards as ``nvidia-smi`` does, and ``CUDA_DEVICE_ORDER=PCI_BUS_ID`` makes CUDA do the same.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

log = logging.getLogger(__name__)

_LIBRARY = "libnvidia-ml.so.1"
_UNKNOWN = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU now; sizes in bytes. ``held``: bytes by process id, where the driver tells."""

    name: str
    total: int
    free: int
    held: Mapping[int, int]

    @property
    def used(self) -> int:
        return self.total - self.free


class Cards(Protocol):
    """Reads a set of GPUs."""

    def read(self) -> tuple[Card, ...]:
        """The cards now, in the order asked for; empty where they cannot be read. Takes under a millisecond."""
        ...


def bytes_held(cards: Sequence[Card], pids: Collection[int]) -> int:
    """What the processes hold on all cards; where the driver does not tell, what everybody holds."""
    known = [card.held[pid] for card in cards for pid in pids if pid in card.held]
    return sum(known) if known else sum(card.used for card in cards)


def choose_gpus(asked: Sequence[int | str] | None, count: int, visible: str | None) -> tuple[str, ...]:
    """The GPUs of an engine as CUDA_VISIBLE_DEVICES takes them.

    Args:
        asked: those that the user named.
        visible: CUDA_VISIBLE_DEVICES of this process; None when it is not set.
    """
    if asked is not None:
        return tuple(str(one) for one in asked)
    there = [one.strip() for one in (visible or "").split(",") if one.strip()]
    return tuple(there[:count]) if visible is not None else tuple(str(one) for one in range(count))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class NvmlCards:
    """The cards named (by index or UUID). Where NVML or a card is missing, ``read`` is empty and the log says why."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._handles: tuple[ctypes.c_void_p, ...] = ()
        self._nvml: ctypes.CDLL | None = None
        try:
            self._nvml = ctypes.CDLL(_LIBRARY)
            self._call("nvmlInit_v2")
            self._handles = tuple(self._handle(name) for name in names)
        except OSError as error:
            log.warning("GPU memory cannot be read (%s): what depends on it is not checked", error)

    def read(self) -> tuple[Card, ...]:
        """See ``Cards.read``."""
        try:
            return tuple(self._card(name, handle) for name, handle in zip(self._names, self._handles, strict=False))
        except OSError as error:
            log.warning("GPU memory could not be read: %s", error)
            return ()

    def _card(self, name: str, handle: ctypes.c_void_p) -> Card:
        memory = _Memory()
        self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        return Card(name=name, total=memory.total, free=memory.free, held=self._processes(handle))

    def _processes(self, handle: ctypes.c_void_p) -> dict[int, int]:
        count = ctypes.c_uint(256)
        entries = (_Process * count.value)()
        try:
            self._call("nvmlDeviceGetComputeRunningProcesses_v3", handle, ctypes.byref(count), entries)
        except OSError:  # an old driver, or a container that hides them
            return {}
        found = (entries[index] for index in range(count.value))
        return {entry.pid: entry.bytes for entry in found if entry.bytes != _UNKNOWN}

    def _handle(self, name: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if name.isdecimal():
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(int(name)), ctypes.byref(handle))
        else:
            self._call("nvmlDeviceGetHandleByUUID", name.encode(), ctypes.byref(handle))
        return handle

    def _call(self, function: str, *arguments: Any) -> None:
        """Raises OSError: there is no such function, or it did not succeed."""
        try:
            code = int(self._nvml[function](*arguments)) if self._nvml is not None else -1
        except AttributeError as error:
            raise OSError(f"NVML has no {function}") from error
        if code:
            raise OSError(f"{function} returned {code}")
