"""A server that somebody else launched and ends: in the place of ``ServerProcess``, and what is known of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from assay.core.errors import GenerationError, StartError

from .config import SGLangConfig
from .family import Fault
from .gpu import Card
from .model import ModelFiles, read_model
from .server import Server
from .starting import find_folder

_READ_S = 5.0


class AttachedProcess:
    """Its processes are not ours: none is seen, and none is ended. A server that dies is found by its silence."""

    pids: frozenset[int] = frozenset()
    log_file = Path()

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def fault(self) -> Fault | None:
        """Nothing is known of its processes."""
        return None

    def tail(self) -> str:
        """Its log is with whoever launched it."""
        return ""

    async def stop(self) -> None:
        """Nothing: it is not ours."""

    async def kill(self) -> None:
        """Nothing: it is not ours."""

    def strike(self) -> None:
        """Nothing: it is not ours."""


class NoCards:
    """``Cards``: what its server holds is no business of ours."""

    def read(self) -> tuple[Card, ...]:
        """None can be read."""
        return ()


async def look_at(config: SGLangConfig, server: Server) -> tuple[ModelFiles, str, bool]:
    """The files of the model that it is said to have, the version of its weights, and whether it sees images.

    Raises:
        InputError: there is no such model. StartError: nothing answers there.
    """
    files = await asyncio.to_thread(lambda: read_model(find_folder(config)))
    try:
        told = (await server.get("/model_info", _READ_S)).data()
    except GenerationError as error:
        raise StartError(f"no SGLang server answers on port {config.attach}: {error.detail}") from error
    return files, str(told.get("weight_version") or ""), bool(told.get("has_image_understanding"))
