"""The HTTP side: one aiohttp session, the attempts of a request inside its one deadline, and the list of models.

Owns connections, retries and rate limits. Does not own what is sent (``body``) or what a reply means (``reply``).
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import aiohttp

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind, Json

from .config import OpenAIConfig
from .failures import HINTS, Refusal, broken, read_refusal
from .limits import Limiter
from .retry import pause, retry_after

T = TypeVar("T")


class Refused(Exception):
    """One attempt failed."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal.error))
        self.refusal = refusal


class Endpoint:
    """A base URL with its session. Make it inside a running event loop; close it. Raises InputError: no API key.

    ``hints``: what may be wrong, by the status of a refusal.
    """

    def __init__(self, config: OpenAIConfig, *, hints: Mapping[int, str] = HINTS) -> None:
        self._config = config
        self._hints = hints
        self._secret = secret = config.secret()
        self._slots = asyncio.Semaphore(config.max_concurrency)
        self._limiter = Limiter(config.requests_per_minute, config.tokens_per_minute)
        self._session = aiohttp.ClientSession(
            headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {secret}"} if secret else {}),
            # The slots bound the connections; a bound here would make health checks queue behind generations.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=config.connect_timeout_s),
        )
        self.running = 0
        self.waiting = 0

    def figures(self) -> dict[str, Json]:
        """Requests on the wire, and those that wait for a place or a rate limit."""
        return {"running": self.running, "waiting": self.waiting}

    async def close(self) -> None:
        """Close all connections; what still runs on them fails."""
        await self._session.close()

    async def post(self, path: str, body: Mapping[str, Any], *, key: str, tokens: int, deadline: Deadline) -> Any:
        """The JSON of the reply.

        Args:
            key: seeds the jitter of the pauses between attempts.
            tokens: what the request may cost, reserved at the tokens-per-minute limit until the reply says more.

        Raises:
            GenerationError: TIMEOUT when the deadline passes, else the failure of the last attempt.
        """
        payload = json.dumps(body).encode()

        async def attempt() -> Any:
            async with self._slot(tokens, deadline):
                return await self._once(path, payload)

        data = await self._retried(attempt, key, deadline)
        usage = data.get("usage") if isinstance(data, dict) else None
        used = usage.get("total_tokens") if isinstance(usage, dict) else None
        self._limiter.settle(tokens, used if isinstance(used, int) else tokens)
        return data

    @asynccontextmanager
    async def open(
        self, path: str, body: Mapping[str, Any], *, key: str, tokens: int, deadline: Deadline
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """A reply whose body is still to come. Leaving early closes the connection. Raises as ``post``."""
        payload = json.dumps(body).encode()
        async with AsyncExitStack() as held:

            async def attempt() -> aiohttp.ClientResponse:
                async with AsyncExitStack() as own:
                    await own.enter_async_context(self._slot(tokens, deadline))
                    response = await self._send(path, payload)
                    own.callback(response.close)
                    held.push_async_callback(own.pop_all().aclose)
                    return response

            yield await self._retried(attempt, key, deadline)

    async def read(self, response: aiohttp.ClientResponse, deadline: Deadline) -> bytes:
        """The next piece of a body; empty at its end. Raises GenerationError."""
        try:
            async with asyncio.timeout(deadline.timeout):
                return await response.content.readany()
        except TimeoutError:
            raise GenerationError(FailureKind.TIMEOUT, f"the deadline passed while {response.url} streamed") from None
        except aiohttp.ClientError as error:
            raise self._lost(response.url.path, error).refusal.error from error

    async def models(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """The entries of ``GET /models``; None where there is no such route. Raises as ``get``."""
        data = await self.get("/models", timeout_s)
        listed: Any = data.get("data") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            return None
        return [model for model in cast("list[Any]", listed) if isinstance(model, dict)]

    async def get(self, path: str, timeout_s: float) -> Any:
        """The JSON of a GET, asked once; None where there is no such route.

        Raises:
            GenerationError: ENGINE_ERROR when the server cannot be reached or is broken, BAD_REQUEST for a wrong key.
        """
        url = f"{self._config.base_url}{path}"
        try:
            async with asyncio.timeout(timeout_s), self._session.get(url, allow_redirects=False) as response:
                if response.status in (404, 405, 501):
                    return None
                text = await response.text(errors="replace")
        except TimeoutError:
            raise GenerationError(FailureKind.ENGINE_ERROR, f"{url} did not answer in {timeout_s:g} s") from None
        except aiohttp.ClientError as error:
            raise self._lost(path, error).refusal.error from error
        if response.status != 200:
            raise self._refusal(response, text).error
        try:
            return json.loads(text)
        except ValueError:
            raise broken(f"{url} answered {text!r:.80}") from None

    async def _retried(self, attempt: Callable[[], Awaitable[T]], key: str, deadline: Deadline) -> T:
        last = "the first one had not ended"
        try:
            async with asyncio.timeout(deadline.timeout):
                for number in itertools.count():
                    try:
                        return await attempt()
                    except Refused as refused:
                        refusal = refused.refusal
                    last = refusal.error.detail
                    await self._before_next(number, refusal, key, deadline)
        except TimeoutError:
            detail = f"{self._config.base_url}: the deadline passed; last attempt: {last}"
            raise GenerationError(FailureKind.TIMEOUT, detail) from None
        raise AssertionError("unreachable: the loop returns or raises")

    async def _before_next(self, number: int, refusal: Refusal, key: str, deadline: Deadline) -> None:
        """Wait until the next attempt; raises the failure of the last one when there is to be none."""
        error, config = refusal.error, self._config
        if not refusal.again or number >= config.max_retries:
            raise error
        wait = pause(number, key, first=config.backoff_s, longest=config.max_backoff_s)
        if error.retry_after is not None:
            self._limiter.pause(error.retry_after)
            wait = max(wait, error.retry_after)
        if wait >= deadline.left:
            detail = f"{error.detail}; the deadline leaves no time for another attempt, due in {wait:.1f} s"
            raise GenerationError(error.kind, detail, retry_after=error.retry_after)
        await asyncio.sleep(wait)

    @asynccontextmanager
    async def _slot(self, tokens: int, deadline: Deadline) -> AsyncGenerator[None]:
        """One of the places on the wire, once the rate limits let the request through."""
        self.waiting += 1
        try:
            await self._limiter.admit(tokens, deadline)
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            yield
        except Refused:
            self._limiter.settle(tokens, 0)
            raise
        finally:
            self.running -= 1
            self._slots.release()

    async def _once(self, path: str, payload: bytes) -> Any:
        limit = self._config.attempt_timeout_s
        try:
            async with asyncio.timeout(limit):
                response = await self._send(path, payload)
                raw = await response.read()
        except TimeoutError:
            detail = f"{self._config.base_url}{path} did not answer in {limit} s (attempt_timeout_s)"
            raise _failed(detail) from None
        except aiohttp.ClientError as error:
            raise self._lost(path, error) from error
        try:
            return json.loads(raw, parse_constant=_infinity)
        except (ValueError, RecursionError) as error:
            text = self._scrubbed(raw[:120].decode("utf-8", "replace"))
            raise Refused(Refusal(error=broken(f"not JSON ({type(error).__name__}): {text!r}"), again=True)) from error

    async def _send(self, path: str, payload: bytes) -> aiohttp.ClientResponse:
        """A reply with status 200; its body is still to be read."""
        url = f"{self._config.base_url}{path}"
        try:
            response = await self._session.post(url, data=payload, allow_redirects=False)
            if response.status == 200:
                return response
            text = await response.text(errors="replace")
        except aiohttp.ClientError as error:
            raise self._lost(path, error) from error
        raise Refused(self._refusal(response, text))

    def _refusal(self, response: aiohttp.ClientResponse, text: str) -> Refusal:
        after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
        moved = f" (it redirects to {response.headers.get('Location')!r}; set base_url to that)"
        text = self._scrubbed(text) + (moved if 300 <= response.status < 400 else "")
        return read_refusal(response.status, text, str(response.url), after, self._hints)

    def _lost(self, path: str, error: aiohttp.ClientError) -> Refused:
        return _failed(f"{self._config.base_url}{path}: {type(error).__name__}: {self._scrubbed(str(error))}")

    def _scrubbed(self, text: str) -> str:
        """``text`` without the API key: servers quote a wrong one back."""
        return text.replace(self._secret, "***") if self._secret else text


def _failed(detail: str) -> Refused:
    return Refused(Refusal(error=GenerationError(FailureKind.ENGINE_ERROR, detail), again=True))


def _infinity(name: str) -> float:
    """Some servers write the log-prob of an impossible token as -Infinity; NaN is nonsense wherever it stands."""
    if name == "-Infinity":
        return float("-inf")
    raise ValueError(f"{name} is not a number")
