"""This process among those that ``torchrun`` started; alone without it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

import torch
import torch.distributed as dist


@contextmanager
def joined() -> Generator[None]:
    """Inside, torch.distributed is initialised where ``WORLD_SIZE`` says that there are others: NCCL, or gloo on CPUs.

    A group that somebody else initialised is used, and left alone.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or dist.is_initialized():
        yield
        return
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    # Values that ranks tell each other travel over gloo, gradients of a device over NCCL.
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    try:
        yield
        # Nobody leaves while another still sends.
        dist.barrier()
    finally:
        dist.destroy_process_group()
