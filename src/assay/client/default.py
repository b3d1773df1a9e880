"""``get_genrm_client()``: the seeds' singleton, and the one documented global of Assay."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from .client import GenRMClient, resolve_url

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, GenRMClient]] = WeakKeyDictionary()
_meant: ContextVar[str | None] = ContextVar("assay_genrm_url", default=None)


@contextmanager
def genrm_url(url: str | None) -> Generator[None]:
    """Within it, and in the tasks and threads that are started from it, ``get_genrm_client()`` means this service."""
    token = _meant.set(url)
    try:
        yield
    finally:
        _meant.reset(token)


def get_genrm_client(url: str | None = None) -> GenRMClient:
    """The client of this event loop for ``url`` (else ``ASSAY_GENRM_URL``, else ``http://localhost:8000/genrm``).

    A run that started its own service has that one meant instead of the last two (``genrm_url``). A closed client is
    replaced. Outside of an event loop there is nothing to share it by: the client is a new one, for the
    loop of its first call.
    """
    url = url or _meant.get()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return GenRMClient(url)
    # A client's connections hold its loop, so the entry of a loop that is over would stay for good.
    for over in [other for other in _clients if other.is_closed()]:
        del _clients[over]
    known = _clients.setdefault(loop, {})
    address = resolve_url(url)
    client = known.get(address)
    if client is None or client.closed:
        client = known[address] = GenRMClient(address)
    return client
