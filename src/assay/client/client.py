"""``GenRMClient``: the service from Python. One pool of connections, one deadline over all attempts.

Owns retries, deadlines and errors on the client's side. Does not own what is sent (``wire``) nor judging.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import random
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
from pydantic import BaseModel, TypeAdapter, ValidationError

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Item, Message
from assay.voting.plan import VotePlan
from assay.wire.body import dump
from assay.wire.endpoints import EndpointsReply
from assay.wire.errors import read_error
from assay.wire.generate import GenerateReply
from assay.wire.messages import from_message
from assay.wire.score import ItemBody, ScoreBody, ScoreReply, from_item
from assay.wire.status import HealthReply
from assay.wire.voting import plan_fields

from .errors import GenRMError
from .retry import CONNECT_ATTEMPTS, RETRIED, read_retry_after, wait_s
from .spread import Spread

log = logging.getLogger(__name__)

DEFAULT_URL = "http://localhost:8000/genrm"
URL_VARIABLE = "ASSAY_GENRM_URL"
KEY_VARIABLE = "ASSAY_API_KEY"
DEADLINE_HEADER = "X-Assay-Deadline-S"
_CONNECTIONS = 1024
_CONNECT_S = 10.0
_IDLE_S = 30.0
_LARGE = 1 << 20
_ASK_S = 5.0

T = TypeVar("T")
_GENERATE = TypeAdapter(GenerateReply)
_SCORE: TypeAdapter[ScoreReply] = TypeAdapter(ScoreReply)
_HEALTH = TypeAdapter(HealthReply)
_METRICS = TypeAdapter(dict[str, Any])
_ENDPOINTS = TypeAdapter(EndpointsReply)


class GenRMClient:
    """An asynchronous client of one service, for one event loop; many calls may run at once.

    Args:
        base_url: the service with its prefix; else ``ASSAY_GENRM_URL``, else ``http://localhost:8000/genrm``.
        api_key: bearer token; else ``ASSAY_API_KEY``.
        timeout_s: deadline of a call that names none, over all its attempts.
        direct: spread calls over the endpoints that the service hands out (``serve --ray``), around the proxy before
            it; where it hands out none, or one is lost, calls go to ``base_url``.

    A call whose task is cancelled closes its connection, and the service stops generating for it.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        direct: bool = False,
    ) -> None:
        self.base_url = resolve_url(base_url)
        self.timeout_s = timeout_s
        self.closed = False
        key = api_key or os.environ.get(KEY_VARIABLE)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._session: aiohttp.ClientSession | None = None
        self._random = random.Random()
        self._direct = direct
        self._spread = Spread(self.base_url)
        self._asking: asyncio.Task[None] | None = None

    async def generate(
        self,
        messages: Sequence[Mapping[str, Any] | Message],
        sampling_params: Mapping[str, Any] | None = None,
        route_key: str | None = None,
        *,
        deadline_s: float | None = None,
    ) -> str:
        """The judge model's raw text.

        Raises:
            GenRMError: there is none, and why.
        """
        body: dict[str, Any] = {"messages": [from_message(m) if isinstance(m, Message) else dict(m) for m in messages]}
        if sampling_params is not None:
            body["sampling_params"] = dict(sampling_params)
        if route_key is not None:
            body["route_key"] = route_key
        data = await self._answered("POST", "/generate", dump(body), self._deadline(deadline_s))
        return _read(_GENERATE, data).response

    async def score(
        self,
        judge: str,
        item: Item | ItemBody,
        *,
        route_key: str | None = None,
        seed: int = 0,
        plan: VotePlan | None = None,
        deadline_s: float | None = None,
    ) -> ScoreReply:
        """A ``VerdictReply``, or the ``FailureReply`` of a judgment that came to none (``wire.score.to_outcome``).

        Raises:
            GenRMError: the item was not judged.
        """
        body = ScoreBody(
            judge=judge,
            item=from_item(item) if isinstance(item, Item) else item,
            route_key=route_key,
            seed=seed,
            **plan_fields(plan),
        )
        data = await self._answered("POST", "/score", _json(body), self._deadline(deadline_s))
        return _read(_SCORE, data)

    async def health(self, *, deadline_s: float = 5.0) -> HealthReply:
        """What the service says of itself, asked once; unhealthy is an answer, not an error."""
        status, _, data = await self._send_once("GET", "/health", None, self._deadline(deadline_s), self.base_url)
        if status not in (200, 503):
            raise _refusal(status, None, data)
        return _read(_HEALTH, data)

    async def metrics(self, *, deadline_s: float = 5.0) -> dict[str, Any]:
        """The JSON of ``/metrics``."""
        data = await self._answered("GET", "/metrics", None, self._deadline(deadline_s))
        return _read(_METRICS, data)

    async def close(self) -> None:
        """Close every connection. Closing twice is fine; calling a closed client is an error."""
        self.closed = True
        if self._asking is not None:
            self._asking.cancel()
        if self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> GenRMClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _deadline(self, seconds: float | None) -> Deadline:
        return Deadline.after(self.timeout_s if seconds is None else seconds)

    async def _answered(self, method: str, path: str, body: bytes | None, deadline: Deadline) -> bytes:
        """The body of a 200, asked for as often as the deadline allows while the service says "later"."""
        attempt, strayed = 0, False
        while True:
            if self._direct:
                await self._know_endpoints(deadline)
            with self._spread.call(home=strayed or not self._direct) as url:
                try:
                    status, retry_after, data = await self._send_once(method, path, body, deadline, url)
                    if status == 200:
                        return data
                    refusal = _refusal(status, retry_after, data)
                    later = status in RETRIED
                except GenRMError as error:
                    refusal = error
                    later = error.type == "unreachable" and attempt + 1 < CONNECT_ATTEMPTS
            if refusal.type == "unreachable" and url != self.base_url and not deadline.expired:
                self._spread.lost(url)
                strayed = True
                log.info("%s %s: %s; again at %s", method, path, refusal, self.base_url)
                continue
            wait = wait_s(attempt, refusal.retry_after, self._random)
            if not later or wait >= deadline.left:
                raise refusal
            log.info("%s %s: %s; again in %.2f s", method, path, refusal, wait)
            await asyncio.sleep(wait)
            attempt += 1

    async def _know_endpoints(self, deadline: Deadline) -> None:
        """Ask where they are when that is due; only the first answer is waited for."""
        if self._spread.due(time.monotonic()):
            self._asking = asyncio.ensure_future(self._ask_endpoints())
        if self._asking is not None and not self._spread.known:
            await asyncio.wait({self._asking}, timeout=deadline.timeout)

    async def _ask_endpoints(self) -> None:
        try:
            status, _, data = await self._send_once("GET", "/endpoints", None, Deadline.after(_ASK_S), self.base_url)
            found = _read(_ENDPOINTS, data).endpoints if status == 200 else ()
            self._spread.told(found, for_good=status == 404)
        except GenRMError as error:
            log.info("the service did not say where its endpoints are: %s", error)

    async def _send_once(
        self, method: str, path: str, body: bytes | None, deadline: Deadline, url: str
    ) -> tuple[int, float | None, bytes]:
        """Status, ``Retry-After`` and body of one attempt at ``url``."""
        told = service_share(deadline.left)
        headers = {DEADLINE_HEADER: f"{told:.3f}"} if body is not None and told >= 0.001 else None
        # A large body (images) goes out in pieces: as one, it would hold up the event loop.
        data = body if body is None or len(body) < _LARGE else io.BytesIO(body)
        try:
            async with asyncio.timeout(deadline.timeout):
                async with self._open().request(method, url + path, data=data, headers=headers) as reply:
                    content = await reply.read()
                    if reply.status >= 500 and reply.status not in RETRIED and not _is_json(reply):
                        # A proxy says this for a replica that died under the request; the service answers in JSON.
                        raise GenRMError(None, "unreachable", f"{url}: HTTP {reply.status} of a proxy before it")
                    return reply.status, read_retry_after(reply.headers.get("Retry-After")), content
        except aiohttp.ClientError as error:
            raise GenRMError(None, "unreachable", f"{url}: {error or type(error).__name__}") from error
        except TimeoutError:
            raise GenRMError(None, "timeout", f"no answer of {url}{path} before the deadline") from None

    def _open(self) -> aiohttp.ClientSession:
        if self.closed:
            raise RuntimeError("this client is closed; make another, or take get_genrm_client()")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_IDLE_S),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                headers=self._headers,
            )
        return self._session


def service_share(left: float) -> float:
    """The part of the seconds left that the service gets: its own account of a timeout must arrive in time."""
    return max(left * 0.95, left - 1.0)


def resolve_url(url: str | None) -> str:
    """The service's URL: the one given, else that of the environment, else the seeds' default.

    Raises:
        InputError: it is none.
    """
    found = (url or os.environ.get(URL_VARIABLE) or DEFAULT_URL).strip().rstrip("/")
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{found!r} is no URL of a judge service: write http://host:port/genrm")
    return found


def _is_json(reply: aiohttp.ClientResponse) -> bool:
    return reply.headers.get("Content-Type", "").startswith("application/json")


def _refusal(status: int, retry_after: float | None, data: bytes) -> GenRMError:
    error = read_error(status, data)
    return GenRMError(status, error.type, error.message, retry_after)


def _read(reply: TypeAdapter[T], data: bytes) -> T:
    """The reply that a 200 carries; what is not one came from another service, and is no answer."""
    try:
        return reply.validate_json(data)
    except ValidationError:
        quoted = data[:200].decode("utf-8", "replace")
        raise GenRMError(200, "engine_error", f"a reply that is none of a GenRM service: {quoted}") from None


def _json(body: BaseModel) -> bytes:
    return dump(body.model_dump(exclude_none=True))
