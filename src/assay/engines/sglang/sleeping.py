"""Sleep, wake and new weights, in the one order that a server survives.

Several control calls end a server when they come at the wrong moment: releasing while a request runs, releasing what is
released, resuming what is not released or has no room, weights of other shapes, generating without weights. So the
state of every tag is kept here; the server is asked to release only after it has said itself that it is idle; and the
gate lets no request in before all is back. A call whose effect is unknown makes the engine ``broken``: nothing more is
asked of it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import FailureKind
from assay.engines.base import Tag

from ..feed import Unsynced, WeightFeed
from .figures import tag_bytes
from .memory import GIB
from .model import ModelFiles, replacement
from .parts import Parts
from .receiving import HttpReceiver, check_outline

log = logging.getLogger(__name__)

T = TypeVar("T")

_NATIVE: dict[Tag, tuple[str, ...]] = {"weights": ("weights",), "kv_cache": ("kv_cache", "cuda_graph")}
_ABORT_GRACE_S = 10.0
_IDLE_S = 10.0
_FALL_S = 3.0
_POLL_S = 0.02
_READ_S = 5.0
_MARGIN = 256 << 20
"""Bytes that must be free on a card beside what is taken again."""


class Sleeper:
    """The memory of one running server. One operation at a time; each runs to its end, also when its caller leaves."""

    def __init__(self, parts: Parts, files: ModelFiles, version: str) -> None:
        self.asleep: frozenset[Tag] = frozenset()
        self.broken: str | None = None
        self.busy = False
        self.files = files
        self.version = version
        self._parts = parts
        self._key = uuid.uuid4().hex
        self._feed: WeightFeed | None = None
        """Where the present weights came from, if not from ``files``."""
        self._held: Mapping[Tag, int] = {}
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()

    async def sleep(self, tags: frozenset[Tag]) -> int:
        """Let running requests end, then release what ``tags`` name and is not released. The bytes that came free.

        Raises:
            GenerationError: bad_request without a memory saver; engine_error when the server could not be made idle
                (then it is awake as before), or is lost, or its memory did not fall (then it is asleep).
        """
        return await self._alone(self._sleep(tags))

    async def wake(self, tags: frozenset[Tag]) -> int:
        """Take again what ``tags`` name and is released; the gate opens once all is back. The bytes taken.

        Raises:
            GenerationError: asleep when a card has no room (the engine sleeps on), engine_error when the server is
                lost.
        """
        return await self._alone(self._wake(tags))

    async def update(self, source: str, version: str) -> None:
        """Take the weights in a folder. New requests wait meanwhile.

        Raises:
            InputError, StartError: they are not there or do not fit, or the server could not read them; the old ones
                go on serving.
            GenerationError: asleep while the weights are released; engine_error when the server is lost.
        """
        await self._alone(self._update(source, version))

    async def take(self, feed: WeightFeed, version: str) -> None:
        """Take the weights that a feed sends. New requests wait meanwhile.

        Raises:
            InputError, StartError, GenerationError: nothing has changed, as for ``update``.
            Unsynced: the server has some of them and not all, or nobody knows: the engine is lost.
        """
        await self._alone(self._update(feed, version))

    async def reload(self) -> None:
        """Read the present weights from where they came again. Raises as ``update`` and ``take``."""
        await self._alone(self._update(self._feed, self.version))

    async def _alone(self, operation: Coroutine[Any, Any, T]) -> T:
        async def turn() -> T:
            async with self._lock:
                if self.broken is not None:
                    operation.close()
                    raise self._lost()
                self.busy = True
                try:
                    return await operation
                finally:
                    self.busy = False

        # In a task of its own: a caller who leaves must not leave a tag half released.
        task = asyncio.create_task(turn())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _sleep(self, tags: frozenset[Tag]) -> int:
        parts, new = self._parts, tags - self.asleep
        if not parts.config.memory_saver:
            raise GenerationError(FailureKind.BAD_REQUEST, "memory_saver=false: this engine cannot give memory back")
        if not new:
            return 0
        if not self.asleep:
            self._held = tag_bytes(await self._read("/v1/loads"))
            parts.gate.shut(GenerationError(FailureKind.ASLEEP, "the engine is asleep", retry_after=2.0))
            try:
                await self._drain("the engine went to sleep before the reply was whole")
                await self._control("/pause_generation", {"mode": "abort"})
                await self._idle()
            except BaseException:
                await self._resume_service()
                raise
        before = parts.gpu_bytes()
        await self._control("/release_memory_occupation", {"tags": _native(new)}, decisive=True)
        self.asleep |= new
        return await self._freed(before, self._expected(new))

    async def _wake(self, tags: frozenset[Tag]) -> int:
        parts, back = self._parts, tags & self.asleep
        if not back:
            return 0
        self._check_room(back)
        before = parts.gpu_bytes()
        if "weights" in back:
            await self._control("/resume_memory_occupation", {"tags": _native({"weights"})}, decisive=True)
            self.asleep -= {"weights"}
            if not parts.config.backed_up:
                # What came back are zeros, and the server would answer with them.
                await self._read_again()
        if "kv_cache" in back:
            await self._control("/resume_memory_occupation", {"tags": _native({"kv_cache"})}, decisive=True)
            self.asleep -= {"kv_cache"}
        after = parts.gpu_bytes()
        if not self.asleep:
            await self._control("/continue_generation", {}, decisive=True)
            parts.gate.open()
        return self._expected(back) if before is None or after is None else max(0, after - before)

    async def _update(self, source: str | WeightFeed | None, version: str) -> None:
        if "weights" in self.asleep:
            detail = "the weights are released; wake the engine before it takes new ones"
            raise GenerationError(FailureKind.ASLEEP, detail, retry_after=2.0)
        files, feed = self.files, None
        if isinstance(source, str):
            files = await asyncio.to_thread(replacement, self.files, source)
        elif source is not None:
            feed = source
            await asyncio.to_thread(check_outline, self.files, feed.shapes)
        serving = not self.asleep
        if serving:
            self._parts.gate.hold()
        try:
            if serving:
                await self._drain("the engine took new weights before the reply was whole")
                await self._idle()
            await (self._load(files.path, version) if feed is None else self._take(feed, version))
        finally:
            if serving and self.broken is None:
                self._parts.gate.open()
        self.files, self._feed, self.version = files, feed, version

    async def _read_again(self) -> None:
        try:
            if self._feed is None:
                await self._load(self.files.path, self.version)
            else:
                await self._take(self._feed, self.version)
        except AssayError as error:
            if self.broken is not None:
                raise
            raise self._break(f"the weights could not be read again after waking: {error}") from error

    async def _load(self, source: Path, version: str) -> None:
        """Raises StartError: the server could not read them, and goes on with what it has."""
        body = {"model_path": str(source), "weight_version": version}
        reply = await self._control("/update_weights_from_disk", body, decisive=True, refusable=True)
        if reply is not None:
            raise StartError(f"SGLang did not take the weights in {str(source)!r}: {reply:.300}")
        told = await self._read("/model_info")
        if told.get("weight_version") != version:
            raise self._break(f"after taking weights {version!r} the server says {told.get('weight_version')!r}")

    async def _take(self, feed: WeightFeed, version: str) -> None:
        parts = self._parts
        receiver = HttpReceiver(parts.server, key=self._key, width=parts.config.tensor_parallel(), version=version)
        try:
            await feed.deliver(receiver, version)
            told = (await self._read("/model_info")).get("weight_version")
            if told != version:
                detail = f"after taking weights {version!r} the server says {told!r}"
                raise GenerationError(FailureKind.ENGINE_ERROR, detail)
        except BaseException as error:
            if not receiver.begun:
                raise
            # Some layers may be new and some old: such a model must not answer.
            lost = self._break(f"weights {version!r} did not arrive whole, and those it has are a mixture: {error}")
            if isinstance(error, AssayError):
                raise Unsynced(lost.detail) from error
            raise

    async def _drain(self, why: str) -> None:
        parts = self._parts
        if not await parts.gate.empty(parts.config.drain_s):
            ended = parts.flights.end_all(GenerationError(FailureKind.ASLEEP, why, retry_after=2.0))
            log.warning("aborted %d requests that still ran after %g s", ended, parts.config.drain_s)
            await parts.gate.empty(_ABORT_GRACE_S)
        await parts.flights.settled()

    async def _idle(self) -> None:
        """Wait until the scheduler itself finds that it is idle; a release before that would end it.

        It flushes its cache only then, and asks itself the same question as when it is told to release.
        """
        try:
            async with asyncio.timeout(_IDLE_S):
                while True:
                    if (await self._parts.server.control("/flush_cache", {})).status == 200:
                        return
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            detail = f"SGLang was still busy {_IDLE_S:g} s after its last request had ended"
            raise GenerationError(FailureKind.ENGINE_ERROR, detail) from None

    async def _resume_service(self) -> None:
        """Undo a sleep that has released nothing yet."""
        await self._control("/continue_generation", {}, decisive=True)
        self._parts.gate.open()

    async def _control(
        self, path: str, body: Mapping[str, Any], *, decisive: bool = False, refusable: bool = False
    ) -> str | None:
        """One control call.

        Args:
            decisive: it changes the server, so that without a good answer its state is unknown and it is lost.
            refusable: an answer of 400 changes nothing and is returned as its text.
        """
        try:
            reply = await self._parts.server.control(path, body)
            if refusable and reply.status == 400:
                return reply.text
            reply.data()
        except GenerationError as error:
            if not decisive:
                raise
            raise self._break(error.detail) from error
        return None

    async def _read(self, path: str) -> dict[str, Any]:
        data = (await self._parts.server.get(path, _READ_S)).data()
        return data if isinstance(data, dict) else {}

    def _check_room(self, back: frozenset[Tag]) -> None:
        need = sum(self._held.get(tag, 0) for tag in back) + _MARGIN
        for card in self._parts.cards.read():
            if card.free < need:
                detail = (
                    f"GPU {card.name} has {card.free / GIB:.1f} GiB free and waking takes {need / GIB:.1f}: "
                    "whoever holds the rest must give it back first"
                )
                raise GenerationError(FailureKind.ASLEEP, detail, retry_after=2.0)

    async def _freed(self, before: int | None, expected: int) -> int:
        """How far memory fell; waits a moment for it, since the driver's figure may lag."""
        if before is None:
            return expected
        loop = asyncio.get_running_loop()
        until = loop.time() + _FALL_S
        while True:
            after = self._parts.gpu_bytes()
            freed = before - (before if after is None else after)
            if freed > 0 and freed >= expected / 2:
                return freed
            if loop.time() >= until:
                break
            await asyncio.sleep(_POLL_S)
        detail = (
            f"SGLang said that it released memory, and {freed / GIB:.2f} of about {expected / GIB:.2f} GiB came free"
        )
        raise GenerationError(FailureKind.ENGINE_ERROR, detail)

    def _expected(self, tags: frozenset[Tag]) -> int:
        return sum(self._held.get(tag, 0) for tag in tags) * self._parts.config.gpus_here

    def _break(self, why: str) -> GenerationError:
        self.broken = why
        lost = self._lost()
        self._parts.gate.shut(lost)
        log.error("%s", lost.detail)
        return lost

    def _lost(self) -> GenerationError:
        return GenerationError(FailureKind.ENGINE_ERROR, f"the engine is lost and must be started anew: {self.broken}")


def _native(tags: frozenset[Tag] | set[Tag]) -> list[str]:
    return [name for tag in sorted(tags) for name in _NATIVE[tag]]
