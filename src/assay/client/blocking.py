"""``SyncGenRMClient``: the same client for code without an event loop. A shell: it holds a loop in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from assay.core.types import Item, Message
from assay.voting.plan import VotePlan
from assay.wire.score import ItemBody, ScoreReply
from assay.wire.status import HealthReply

from .client import GenRMClient

T = TypeVar("T")


class SyncGenRMClient:
    """Blocking calls, from any number of threads. Arguments and errors are those of ``GenRMClient``."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        direct: bool = False,
    ) -> None:
        self._client = GenRMClient(base_url, api_key=api_key, timeout_s=timeout_s, direct=direct)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="genrm client", daemon=True)
        self._thread.start()

    def generate(
        self,
        messages: Sequence[Mapping[str, Any] | Message],
        sampling_params: Mapping[str, Any] | None = None,
        route_key: str | None = None,
        *,
        deadline_s: float | None = None,
    ) -> str:
        return self._wait(self._client.generate(messages, sampling_params, route_key, deadline_s=deadline_s))

    def score(
        self,
        judge: str,
        item: Item | ItemBody,
        *,
        route_key: str | None = None,
        seed: int = 0,
        plan: VotePlan | None = None,
        deadline_s: float | None = None,
    ) -> ScoreReply:
        return self._wait(
            self._client.score(judge, item, route_key=route_key, seed=seed, plan=plan, deadline_s=deadline_s)
        )

    def health(self) -> HealthReply:
        return self._wait(self._client.health())

    def metrics(self) -> dict[str, Any]:
        return self._wait(self._client.metrics())

    def close(self) -> None:
        """Close the connections and end the thread. Closing twice is fine."""
        if self._loop.is_closed():
            return
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> SyncGenRMClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            call.close()
            raise RuntimeError("this client is closed; make another")
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in the waiting thread: the call in the other one must not run on.
            future.cancel()
            raise
