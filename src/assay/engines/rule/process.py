"""The parent's end of one child process: ask it, know how it died, kill it. Belongs to one event loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, cast

from assay.core.errors import StartError

from .config import RuleConfig
from .worker import EXIT_MEMORY


class WorkerDied(Exception):
    """The child ended before it replied. ``status`` as ``subprocess`` gives it: negative for a signal, None unknown."""

    def __init__(self, status: int | None, report: str) -> None:
        super().__init__(status, report)
        self.status = status
        self.report = report

    @property
    def expired(self) -> bool:
        """Its own timer ended it."""
        return self.status == -signal.SIGALRM and not self.report

    @property
    def out_of_memory(self) -> bool:
        return self.status == EXIT_MEMORY

    @property
    def cause(self) -> str:
        if self.report:
            return f"raised {self.report}"
        if self.status is None:
            return "was closed"
        if self.status < 0:
            return f"was killed by {signal.Signals(-self.status).name}"
        return f"ended with exit status {self.status}"


class WorkerProcess(asyncio.SubprocessProtocol):
    """One child, one question at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.SubprocessTransport | None = None
        self._lost: Callable[[WorkerProcess], None] | None = None
        self._unread = bytearray()
        self._report = ""
        self._waiting: asyncio.Future[dict[str, Any]] | None = None
        self._ended = asyncio.Event()

    @classmethod
    async def start(cls, config: RuleConfig, lost: Callable[[WorkerProcess], None]) -> WorkerProcess:
        """A child that is ready. ``lost`` is called once, when it has ended later on, for whatever reason.

        Raises:
            StartError: it did not start, or was not ready in time.
        """
        worker = cls()
        arguments = ("-P", "-m", "assay.engines.rule.worker", str(config.rule_timeout_s), str(config.memory_mb))
        # The child finds the modules that this process finds, however it came by them. In a session of its own it
        # does not get the Ctrl-C of the terminal.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(config.start_timeout_s):
                await loop.subprocess_exec(
                    lambda: worker, sys.executable, *arguments, stderr=None, start_new_session=True, env=environment
                )
                await worker._reply()
            worker._lost = lost
        except WorkerDied as death:
            raise StartError(f"a worker of the rule engine did not start: it {death.cause}") from death
        except TimeoutError:
            wait = f"{config.start_timeout_s:g} s"
            raise StartError(f"a worker of the rule engine was not ready after {wait}; raise start_timeout_s") from None
        except OSError as error:
            raise StartError(f"a worker of the rule engine could not be started: {error}") from error
        finally:
            if worker._lost is None:
                await worker.kill()
        return worker

    @property
    def alive(self) -> bool:
        return self._transport is not None and self._transport.get_returncode() is None

    @property
    def pid(self) -> int | None:
        return None if self._transport is None else self._transport.get_pid()

    async def ask(self, rule: str, arguments: object) -> str:
        """The answer of the rule. Raises WorkerDied. Whoever leaves before the reply must ``abort`` the child."""
        if self._transport is None or not self.alive:
            raise WorkerDied(None, "")
        question = json.dumps({"rule": rule, "arguments": arguments}).encode() + b"\n"
        cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0)).write(question)
        return str((await self._reply())["text"])

    def abort(self) -> None:
        """End the child now, whatever it does."""
        if self._transport is not None:
            self._transport.close()

    async def kill(self) -> None:
        """End the child and wait until nothing of it is left."""
        if self._transport is not None:
            self._transport.close()
            await self._ended.wait()

    async def _reply(self) -> dict[str, Any]:
        self._waiting = asyncio.get_running_loop().create_future()
        if self._ended.is_set():
            self._give_up()
        return await self._waiting

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:  # noqa: ARG002
        self._unread += data if isinstance(data, bytes) else data.encode()
        if not self._unread.endswith(b"\n"):
            return
        reply: dict[str, Any] = json.loads(self._unread)
        self._unread.clear()
        if "error" in reply:
            self._report = str(reply["error"])
        elif self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.abort()  # closes what a child that ended by itself leaves open
        self._ended.set()
        self._give_up()
        if self._lost is not None:
            self._lost(self)

    def _give_up(self) -> None:
        status = None if self._transport is None else self._transport.get_returncode()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(WorkerDied(status, self._report))
