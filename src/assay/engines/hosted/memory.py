"""How much memory this process holds on the device that its model is on."""

from __future__ import annotations

import os
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
