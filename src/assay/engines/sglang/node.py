"""A node of an engine that spans several: it lends its GPUs to rank 0 and answers no requests itself."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from assay.core.errors import InputError

from .config import SGLangConfig
from .gpu import Cards, NvmlCards
from .process import ServerProcess
from .server import Server
from .starting import make_plan, visible_gpus, wait_until_ready


class SGLangNode:
    """The processes of one rank above 0. Start all ranks at the same time: none is ready before all are.

    Raises:
        InputError: it is the node of rank 0, which is an engine.
    """

    def __init__(self, config: SGLangConfig, cards: Cards | None = None) -> None:
        if config.node_rank == 0:
            raise InputError("node_rank=0 answers the requests: it is an SGLangEngine")
        self.config = config
        self._cards = cards
        self._process: ServerProcess | None = None

    async def start(self) -> None:
        """Launch, and wait until the schedulers of this node are ready. Raises InputError or StartError."""
        config = self.config
        cards = self._cards or NvmlCards(visible_gpus(config))
        plan = await asyncio.to_thread(make_plan, config, cards)
        async with AsyncExitStack() as undo:
            process = await ServerProcess.launch(plan.command, plan.env, config.log_file, config.stop_s)
            undo.push_async_callback(process.kill)
            server = Server(plan.port, config.control_timeout_s)
            try:
                await wait_until_ready(config, process, server)
            finally:
                await server.close()
            undo.pop_all()
        self._process = process

    @property
    def fault(self) -> str | None:
        """Why this node is of no use, at once after it broke; None while it works."""
        if self._process is None:
            return "the node is not running"
        fault = self._process.fault()
        return None if fault is None else fault.detail

    async def ended(self) -> None:
        """Wait until the node's processes end."""
        if self._process is not None:
            await self._process.ended.wait()

    async def close(self) -> None:
        """End the node's processes. Closing twice is fine."""
        process, self._process = self._process, None
        if process is not None:
            await process.stop()
