"""The sglang engine: one server that this process owns, behind the engine protocols.

Generations go through the gate, each call in a flight of its own; sleep, wake and new weights through the sleeper; the
watch knows how the server is. An engine whose server died can be started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import Completion, FailureKind, Json, Request
from assay.engines.base import Capability, Delta, EngineHealth, EngineInfo, Tag

from ..feed import FEED, WeightFeed
from ..openai.sse import ChunkReader, EventReader
from .attached import AttachedProcess, NoCards, look_at
from .body import GRAMMARS, Call, Facts, fitted, make_calls, settled
from .choices import Chooser
from .config import SGLangConfig
from .failures import ContextOverflow
from .flights import Flight, Flights, Gate
from .gpu import Cards, NvmlCards
from .parts import Parts
from .process import ServerProcess
from .reply import check_constrained, read_reply
from .server import Server
from .sleeping import Sleeper
from .starting import check_it_is_ours, make_plan, visible_gpus, wait_until_ready
from .streaming import NativeReader, StreamReader
from .watch import Watch

_TAGS: frozenset[Tag] = frozenset({"weights", "kv_cache"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """Everything about a server that runs."""

    parts: Parts
    sleeper: Sleeper
    watch: Watch
    facts: Facts
    chooser: Chooser
    taken: int | None
    """Bytes that it took on its cards."""

    def well(self) -> bool:
        """Whether it runs, answers, and its state is known."""
        self.watch.look()
        return self.watch.state == "ready" and self.sleeper.broken is None


class SGLangEngine:
    """Engine, StreamingEngine, Offloadable, Updatable, and what a pool of engines can use beyond (``pool/traits``).

    Belongs to the event loop in which it was started. With ``attach`` the server is somebody else's.

    Args:
        cards: how to read the GPUs; None asks the driver.
        feed: what sends it weights whose source begins with ``feed:``; None: it takes them from folders alone.
    """

    def __init__(self, config: SGLangConfig, cards: Cards | None = None, feed: WeightFeed | None = None) -> None:
        self.config = config
        self._feed = feed
        self._cards = cards
        self._gate = Gate()
        self._running: _Running | None = None
        self._process: ServerProcess | None = None
        """The last one that was launched."""
        self._starting = asyncio.Lock()

    @property
    def info(self) -> EngineInfo:
        """The weight version and the limits are known once the engine has started."""
        running, config = self._running, self.config
        capabilities: set[Capability] = {"chat", "tokens", "choices", "logprobs", "token_ids", *GRAMMARS}
        if running is not None and running.facts.images:
            capabilities.add("images")
        return EngineInfo(
            model=config.model,
            weight_version=running.sleeper.version if running is not None else config.weight_version or "",
            capabilities=frozenset(capabilities),
            context_len=running.facts.context_len if running is not None else config.max_context_len,
            batch_invariant=config.deterministic,
            num_gpus=config.num_gpus,
            parameters=running.facts.files.parameters if running is not None else None,
        )

    async def start(self) -> None:
        """Launch a server and wait until it is warm. One that runs well is kept; one that is dead or lost is replaced.

        Raises:
            InputError: an unknown model or argument.
            StartError: no SGLang, no room, or the server ended or was not ready in time; with the end of its log.
        """
        async with self._starting:
            if self._running is not None and self._running.well():
                return
            await self._stop()
            self._running = await self._launch()
            self._gate.open()

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. Whoever leaves, or runs out of time, has the generation aborted on the server."""
        async with self._gate.enter(deadline):
            running = self._there()
            if request.choices is not None:
                scored = await running.chooser.score(request, request.choices, deadline)
                return (replace(scored, model=self.config.model),)
            sampling = settled(request, self.config)
            calls = make_calls(request, sampling, self.config, running.facts)
            if len(calls) == 1:
                found = await self._call(calls[0], request, deadline)
            else:
                found = await self._side_by_side(calls, request, deadline)
        for completion in found:
            check_constrained(completion, sampling, self.config)
        return tuple(replace(one, index=index, model=self.config.model) for index, one in enumerate(found))

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        """See ``StreamingEngine.stream``. Choices, and samples with seeds of their own, come whole."""
        sampling = settled(request, self.config)
        calls = [] if request.choices else make_calls(request, sampling, self.config, self._there().facts)
        if len(calls) != 1:
            for done in await self.generate(request, deadline):
                yield Delta(
                    index=done.index,
                    text=done.text,
                    token_ids=done.token_ids,
                    logprobs=done.logprobs,
                    finish_reason=done.finish_reason,
                )
            return
        async with self._gate.enter(deadline):
            async for delta in self._stream(calls[0], deadline):
                yield delta

    async def health(self) -> EngineHealth:
        """What the watch knows; asks the server nothing, so it takes no time and is safe in every state.

        While it starts, ``detail`` has the stage (``checks``, then ``server``) and the end of the server's log.
        """
        running = self._running
        if running is None:
            state = "starting" if self._starting.locked() else "stopped"
            return EngineHealth(healthy=False, state=state, error=f"the engine is {state}", detail=self._launched())
        watch, sleeper = running.watch, running.sleeper
        asleep: list[Json] = [*sorted(sleeper.asleep)]
        flights = running.parts.flights
        watch.look()
        detail: dict[str, Json] = {
            **watch.told,
            "open_requests": self._gate.inside,
            "aborted": flights.aborted,
            "asleep": asleep,
            "gpu_bytes_at_start": running.taken,
        }
        if watch.state != "ready":
            return EngineHealth(healthy=False, state=watch.state, error=watch.error, detail=detail)
        if sleeper.broken is not None:
            return EngineHealth(healthy=False, state="lost", error=sleeper.broken, detail=detail)
        return EngineHealth(healthy=True, state="asleep" if asleep else "ready", detail=detail)

    async def sleep(self, tags: frozenset[Tag] = _TAGS) -> int:
        """Refuse new requests, let the running ones end, then release what ``tags`` name. The bytes that came free."""
        if self.config.attach is not None:
            raise GenerationError(
                FailureKind.BAD_REQUEST, "attach: the server is somebody else's and is not put to sleep"
            )
        return await self._there().sleeper.sleep(tags)

    async def wake(self, tags: frozenset[Tag] = _TAGS) -> int:
        """Take memory again; requests are accepted once no tag is asleep. The bytes taken."""
        return await self._there().sleeper.wake(tags)

    @property
    def url(self) -> str:
        """Where the server listens. Raises GenerationError: the engine is not running."""
        return self._there().parts.server.url

    async def update_weights(self, source: str, version: str) -> None:
        """Take the weights in the folder ``source``, or from the feed; requests wait, and later ones carry ``version``.

        Raises InputError or StartError, and then the old weights go on serving; Unsynced, and then it serves nothing.
        """
        if not source.startswith(FEED):
            await self._there().sleeper.update(source, version)
        elif self._feed is None:
            raise InputError(f"weights {source!r} are sent by a trainer, and this engine was built without one")
        else:
            await self._there().sleeper.take(self._feed, version)

    async def reload(self) -> None:
        """Read the weights from their files again. Raises StartError: they cannot be read."""
        await self._there().sleeper.reload()

    async def held_bytes(self) -> int | None:
        """What the server holds on its cards, measured; None where they cannot be read."""
        return self._there().parts.gpu_bytes()

    async def lost(self) -> str:
        """Returns once the server is dead, whenever that is, with how it died. Called after ``start``."""
        watch = self._there().watch
        await watch.died.wait()
        return watch.error or "it is dead"

    def kill(self) -> None:
        """End the server's processes at once, whatever they do; fine when they have ended."""
        if self._running is not None:
            self._running.parts.process.strike()

    async def close(self) -> None:
        """End the server and all its processes."""
        async with self._starting:
            await self._stop()

    async def _launch(self) -> _Running:
        config = self.config
        if config.node_rank > 0:
            raise StartError(f"node_rank={config.node_rank} answers no requests: start it as an SGLangNode")
        if config.attach is not None:
            return await self._attach(config.attach)
        cards = self._cards or NvmlCards(visible_gpus(config))
        self._process = None
        plan = await asyncio.to_thread(make_plan, config, cards)
        async with AsyncExitStack() as undo:
            process = await ServerProcess.launch(plan.command, plan.env, config.log_file, config.stop_s)
            self._process = process
            undo.push_async_callback(process.kill)
            server = Server(plan.port, config.control_timeout_s)
            undo.push_async_callback(server.close)
            await wait_until_ready(config, process, server)
            images = await check_it_is_ours(server, plan)
            undo.pop_all()
        facts = Facts(files=plan.files, context_len=plan.context_len, images=images)
        return self._around(process, server, cards, facts, plan.version)

    async def _attach(self, port: int) -> _Running:
        async with AsyncExitStack() as undo:
            server = Server(port, self.config.control_timeout_s)
            undo.push_async_callback(server.close)
            files, version, images = await look_at(self.config, server)
            undo.pop_all()
        facts = Facts(files=files, context_len=files.context_len(self.config.max_context_len), images=images)
        return self._around(AttachedProcess(), server, self._cards or NoCards(), facts, version)

    def _around(
        self, process: ServerProcess | AttachedProcess, server: Server, cards: Cards, facts: Facts, version: str
    ) -> _Running:
        parts = Parts(
            config=self.config,
            process=process,
            server=server,
            gate=self._gate,
            flights=Flights(server.abort),
            cards=cards,
        )
        sleeper = Sleeper(parts, facts.files, version)
        return _Running(
            parts=parts,
            sleeper=sleeper,
            watch=Watch(parts, sleeper),
            facts=facts,
            chooser=Chooser(self._asked, facts),
            taken=parts.gpu_bytes(),
        )

    def _launched(self) -> dict[str, Json]:
        """How far a start is: what it does, and what the server's own log says."""
        process = self._process
        if process is None:
            return {"stage": "checks"}
        return {"stage": "server", "log": str(process.log_file), "log_end": process.tail()}

    async def _stop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        ended = GenerationError(FailureKind.ENGINE_ERROR, "the engine was closed")
        self._gate.shut(ended)
        running.parts.flights.end_all(ended)
        well, process = running.well(), running.parts.process
        await running.watch.close()
        await (process.stop() if well else process.kill())
        await running.parts.server.close()
        await running.parts.flights.settled()

    def _there(self) -> _Running:
        if self._running is None:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the sglang engine is not running; await start() first")
        return self._running

    async def _asked(self, path: str, body: Mapping[str, Any], deadline: Deadline) -> Any:
        parts = self._there().parts
        with parts.flights.board(deadline) as flight:
            async with flight.waiting():
                reply = await parts.server.send(path, {**body, "rid": flight.rid})
                flight.answered = True
        return reply.data()

    async def _call(self, call: Call, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        try:
            data = await self._asked(call.path, call.body, deadline)
        except GenerationError as error:
            data = await self._asked(call.path, self._refitted(call, error), deadline)
        return read_reply(data, call, request)

    async def _side_by_side(self, calls: list[Call], request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """Calls of one request at the same time; the first failure ends the others."""
        tasks = [asyncio.create_task(self._call(call, request, deadline)) for call in calls]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return tuple(completion for part in found for completion in part)

    def _refitted(self, call: Call, error: GenerationError) -> dict[str, Any]:
        """The body of a chat whose prompt fits while the longest reply behind it would not, with a shorter one.

        SGLang refuses it, and only its refusal says how long the prompt is. Raises ``error`` where that is no help.
        """
        if not call.chat or not isinstance(error, ContextOverflow) or error.room is None:
            raise error
        return fitted(call.body, error.room)

    async def _stream(self, call: Call, deadline: Deadline) -> AsyncIterator[Delta]:
        parts = self._there().parts
        events = EventReader()
        chunks: StreamReader = ChunkReader(call.n) if call.chat else NativeReader(call.n)
        with parts.flights.board(deadline) as flight:
            async with AsyncExitStack() as held:
                response = await self._opened(call, flight, held)
                while True:
                    async with flight.waiting():
                        piece = await parts.server.read(response)
                    if not piece:
                        break
                    for event in events.feed(piece):
                        for delta in chunks.read(event):
                            if delta.finish_reason == "abort":
                                detail = "SGLang aborted the request before its reply was whole"
                                raise GenerationError(FailureKind.ENGINE_ERROR, detail)
                            yield delta
                flight.answered = True
        chunks.end()

    async def _opened(self, call: Call, flight: Flight, held: AsyncExitStack) -> Any:
        server = self._there().parts.server
        body = {**call.body, "rid": flight.rid, "stream": True}
        async with flight.waiting():
            try:
                return await held.enter_async_context(server.open(call.path, body))
            except GenerationError as error:
                shorter = self._refitted(call, error) | {"rid": flight.rid, "stream": True}
                return await held.enter_async_context(server.open(call.path, shorter))
