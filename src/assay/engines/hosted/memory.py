"""How much memory this process holds on the device that its model is on, and giving back what is free."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from pathlib import Path
from typing import Any

_STATM = Path("/proc/self/statm")


def held_bytes() -> int | None:
    """Bytes that torch holds on CUDA where CUDA is in use, else this process's resident bytes; None where unknown."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return sum(int(torch.cuda.memory_reserved(device)) for device in range(torch.cuda.device_count()))
    try:
        resident = int(_STATM.read_text().split()[1])
    except OSError:
        return None
    return resident * os.sysconf("SC_PAGE_SIZE")


def give_back() -> None:
    """Return freed memory to the system: without this, cycles keep tensors alive, and glibc keeps freed pages."""
    gc.collect()
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
