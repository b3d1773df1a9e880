"""What a rank does for weights that are sent in buckets: its part of ``training.dispatch``, called from elsewhere.

What goes wrong with one engine is told as a value: a rank that failed would end all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.core.errors import AssayError, StartError
from assay.engines.feed import Bucket
from assay.engines.ray.cluster import own_address
from assay.engines.ray.letters import LOOPBACK

from .crew import Told, answered

if TYPE_CHECKING:
    from assay.training.dispatch import Dispatch
    from assay.training.trainer import Trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOrders:
    """See ``Dispatch``."""

    dtype: str | None = None
    bucket_bytes: int = 512 << 20
    limit_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a rank's part: a value, or why an engine does not get its weights."""

    value: Any = None
    error: StartError | None = None


class Sends:
    """The calls of a rank by which weights are sent. All but ``send_stop`` come to all ranks in the same order.

    Their values are ``Sent``; an error of the call itself ends all ranks.
    """

    def __init__(self) -> None:
        self._dispatch: Dispatch | None = None

    def send_equip(self, orders: SendOrders) -> Told:
        """Before all others."""

        def equip() -> Sent:
            from assay.training.dispatch import Dispatch

            self._dispatch = Dispatch(
                self.trainer(), dtype=orders.dtype, bucket_bytes=orders.bucket_bytes, limit_s=orders.limit_s
            )
            return Sent()

        return answered(equip)

    def send_begin(self, version: str, fills: bool) -> Told:
        return self._part(lambda dispatch: dispatch.begin(version, fills=fills))

    def send_next(self, width: int) -> Told:
        return self._part(lambda dispatch: dispatch.next(width))

    def send_end(self) -> Told:
        return self._part(lambda dispatch: dispatch.end())

    def send_offer(self, name: str, across: bool, engines: int) -> Told:
        """``across``: the engine is on another node."""
        return self._part(lambda dispatch: dispatch.offer(name, own_address() if across else LOOPBACK, engines))

    def send_meet(self, name: str) -> Told:
        return self._part(lambda dispatch: dispatch.meet(name))

    def send_broadcast(self, name: str) -> Told:
        return self._part(lambda dispatch: dispatch.broadcast(name))

    def send_leave(self, name: str) -> Told:
        return self._part(lambda dispatch: dispatch.leave(name))

    def send_stop(self) -> None:
        """End a broadcast that goes on; beside the call that it goes on in."""
        if self._dispatch is not None:
            self._dispatch.stop()

    def trainer(self) -> Trainer:
        """Whose weights they are. Raises AssayError."""
        raise NotImplementedError

    def _part(self, work: Callable[[Dispatch], Any]) -> Told:
        def done() -> Sent:
            if self._dispatch is None:
                raise AssayError("this rank was not told how to send weights")
            try:
                return Sent(value=work(self._dispatch))
            except StartError as error:
                return Sent(error=error)

        return answered(done)


def joined(buckets: list[Bucket]) -> Bucket:
    """The buckets of several ranks, filled with the same weights, as one: a payload for each reader, in this order."""
    first = buckets[0]
    return Bucket(
        names=first.names,
        shapes=first.shapes,
        dtype=first.dtype,
        size=first.size,
        last=first.last,
        payloads=tuple(payload for bucket in buckets for payload in bucket.payloads),
    )


def value_of(told: list[Sent]) -> list[Any]:
    """What the ranks give; raises what the first of them says that went wrong."""
    error = next((one.error for one in told if one.error is not None), None)
    if error is not None:
        raise error
    return [one.value for one in told]
