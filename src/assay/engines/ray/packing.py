"""Letters as JSON and back: what crosses a socket is data, never code. Lossless, as ``hosted.codec`` is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

from assay.engines.base import EngineHealth
from assay.engines.hosted.codec import (
    dump_completion,
    dump_delta,
    dump_error,
    dump_health,
    dump_info,
    dump_request,
    load_completion,
    load_delta,
    load_error,
    load_health,
    load_info,
    load_request,
)
from assay.engines.pool.report import PoolReport, Waiter

from .letters import Answer, Ask, FromDesk, Gone, Heard, Hello, Leave, News, Order, Piece, Refusal, ToDesk, Value

Packed = list[Any]


def pack(letter: ToDesk | FromDesk) -> Packed:
    """JSON-able; ``unpack`` gives an equal letter."""
    match letter:
        case Ask(number, request, left, streamed):
            return ["ask", number, dump_request(request), left, streamed]
        case Answer(number, value):
            return ["answer", number, *_pack_value(value)]
        case Leave(number):
            return ["leave", number]
        case Piece(number, delta):
            return ["piece", number, dump_delta(delta)]
        case Refusal(number, error):
            return ["refusal", number, dump_error(error)]
        case Order(number, name, arguments):
            return ["order", number, name, list(arguments)]
        case News(number, info, asleep, started):
            return ["news", number, dump_info(info), sorted(asleep), started]
        case Heard(number):
            return ["heard", number]
        case Hello(password):
            return ["hello", password]
        case Gone(reason):
            return ["gone", reason]


def unpack(packed: Packed) -> ToDesk | FromDesk:
    """The letter. Raises ValueError, KeyError, TypeError for what is none."""
    match packed:
        case ["ask", number, request, left, streamed]:
            return Ask(number, load_request(request), left, streamed)
        case ["answer", number, "report", counters, waiting]:
            return Answer(number, PoolReport(counters=counters, waiting=tuple(Waiter(**one) for one in waiting)))
        case ["answer", number, kind, value]:
            return Answer(number, _unpack_value(kind, value))
        case ["leave", number]:
            return Leave(number)
        case ["piece", number, delta]:
            return Piece(number, load_delta(delta))
        case ["refusal", number, error]:
            return Refusal(number, load_error(error))
        case ["order", number, name, arguments]:
            return Order(number, name, tuple(arguments))
        case ["news", number, info, asleep, started]:
            return News(number, load_info(info), frozenset(asleep), started)
        case ["heard", number]:
            return Heard(number)
        case ["hello", password]:
            return Hello(password)
        case ["gone", reason]:
            return Gone(reason)
        case _:
            raise ValueError(f"not a letter: {str(packed)[:200]}")


def _pack_value(value: Value) -> Packed:
    if isinstance(value, tuple):
        return ["completions", [dump_completion(one) for one in value]]
    if isinstance(value, EngineHealth):
        return ["health", dump_health(value)]
    if isinstance(value, PoolReport):
        return ["report", dict(value.counters), [asdict(waiter) for waiter in value.waiting]]
    return ["plain", value]


def _unpack_value(kind: str, value: Any) -> Value:
    match kind:
        case "completions":
            return tuple(load_completion(one) for one in cast(list[dict[str, Any]], value))
        case "health":
            return load_health(value)
        case _:
            return value
