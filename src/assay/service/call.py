"""One HTTP call: its id, its headers, its body within the limit, its deadline."""

from __future__ import annotations

import itertools
import math
import re
import secrets
from typing import cast

from starlette.requests import Request
from starlette.types import Receive, Scope

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError
from assay.core.types import FailureKind

DEADLINE_HEADER = "X-Assay-Deadline-S"
_SCOPE_KEY = "assay.call"
_GOOD_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_PROCESS = secrets.token_hex(6)
_numbers = itertools.count(1)


class BodyTooLarge(AssayError):
    """The body is over the service's limit."""


class Call:
    """What the routes need to know of the HTTP request. The boundary makes it; ``given_up`` says why nobody waits."""

    __slots__ = ("given_up", "headers", "receive", "request_id")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.receive = receive
        self.given_up: GenerationError | None = None
        given = self.headers.get(b"x-request-id")
        known = given is not None and _GOOD_ID.fullmatch(given)
        self.request_id: str = given.decode("ascii") if given and known else f"{_PROCESS}-{next(_numbers):x}"
        scope[_SCOPE_KEY] = self

    @classmethod
    def of(cls, request: Request) -> Call:
        return cast(Call, request.scope[_SCOPE_KEY])

    def deadline(self, default_s: float, body_s: float | None = None) -> Deadline:
        """The sooner of header and body; the default where neither names one.

        Raises:
            InputError: the header is not a positive number.
        """
        header = self.headers.get(b"x-assay-deadline-s")
        if header is None:
            return Deadline.after(default_s if body_s is None else body_s)
        try:
            seconds = float(header)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            raise InputError(f"{DEADLINE_HEADER}: {header.decode('latin-1')!r} is not a positive number of seconds")
        return Deadline.after(seconds if body_s is None else min(seconds, body_s))

    async def json_body(self, limit: int) -> bytes:
        """The whole body, as long as it calls itself JSON and stays within ``limit`` bytes.

        Raises:
            InputError: another content type (a web page of a stranger can send those to a loopback address unasked).
            BodyTooLarge: over the limit, said or streamed. GenerationError: the client left.
        """
        media = self.headers.get(b"content-type", b"")
        if not media.lower().startswith(b"application/json"):
            raise InputError(f"Content-Type must be application/json (got {media.decode('latin-1')!r})")
        said = self.headers.get(b"content-length")
        if said is not None and said.isdigit() and int(said) > limit:
            raise BodyTooLarge(f"the body has {int(said)} bytes; the limit is {limit}")
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            chunk, more = await self._chunk()
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise BodyTooLarge(f"the body has more than {limit} bytes, which is the limit")
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _chunk(self) -> tuple[bytes, bool]:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise GenerationError(FailureKind.CANCELLED, "the client left before its request was whole")
        return message.get("body", b""), message.get("more_body", False)
