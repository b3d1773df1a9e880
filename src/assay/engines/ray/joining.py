"""This process on a Ray cluster: one that runs already, or one that is started here and ends with this."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager

from assay.core.errors import StartError

_KNOCK_S = 10.0


@contextmanager
def connected(
    address: str | None, *, num_gpus: int | None = None, bundles: int = 1, object_store_bytes: int | None = None
) -> Generator[None]:
    """Connected to a cluster.

    Args:
        address: of one that runs (``auto``, or host:port); None starts one on this machine.
        num_gpus: of one that is started here; None counts the machine's own. More than there are is a simulation.
        bundles: how many bundles one that is started here must have CPUs for. They are only counted.
        object_store_bytes: of one that is started here; None leaves Ray's own choice.

    Raises:
        StartError: there is no such cluster.
    """
    import ray

    if address is not None:
        _knock(address)
        try:
            ray.init(address=address, logging_level=logging.WARNING)
        except (ConnectionError, ValueError) as error:
            raise StartError(f"no Ray cluster at {address!r}: {error}") from error
    else:
        # Ray's workers give way to everything else on the machine; those that answer requests should not.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init(
            address="local",
            num_gpus=num_gpus,
            num_cpus=max(os.cpu_count() or 1, bundles),
            include_dashboard=False,
            object_store_memory=object_store_bytes,
            logging_level=logging.WARNING,
        )
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises StartError where nobody listens: Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if not host:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S):
            pass
    except (OSError, ValueError) as error:
        raise StartError(f"no Ray cluster at {address!r}: {error}") from error
