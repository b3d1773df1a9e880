"""A vote plan as text and JSON, and back: what flags, request bodies and the header of a recording say.

``stop`` has one written form everywhere: ``certain``, ``confident``, ``confident:0.05``, ``budget:tokens=2000``,
``budget:seconds=3``, ``budget:tokens=2000,seconds=3``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Json

from .plan import Budget, Certain, Confident, Stop, VotePlan

_FORMS = "certain, confident:DELTA, budget:tokens=N, budget:seconds=S"


def parse_stop(text: str) -> Stop:
    """The rule that ``text`` names.

    Raises:
        InputError: it names none, or a number in it is out of range.
    """
    rule, _, rest = text.strip().partition(":")
    if rule == "certain" and not rest:
        return Certain()
    if rule == "confident":
        return Confident(delta=_number(text, rest)) if rest else Confident()
    if rule == "budget":
        return _budget(text, rest)
    raise InputError(f"stop {text!r} is no rule; there are {_FORMS}")


def stop_text(stop: Stop) -> str:
    """The written form of a rule; ``parse_stop`` reads it back."""
    match stop:
        case Certain():
            return "certain"
        case Confident(delta=delta):
            return f"confident:{delta!r}"
        case Budget(tokens=tokens, seconds=seconds):
            limits = {"tokens": tokens, "seconds": seconds}
            return "budget:" + ",".join(f"{name}={value!r}" for name, value in limits.items() if value is not None)


def plan_to_json(plan: VotePlan) -> dict[str, Json]:
    """The plan as JSON, with all of its options."""
    told: dict[str, Json] = {name: value for name, value in asdict(plan).items() if name != "stop"}
    return {**told, "stop": None if plan.stop is None else stop_text(plan.stop)}


def plan_from_json(told: Mapping[str, Any]) -> VotePlan:
    """The plan that ``plan_to_json`` wrote.

    Raises:
        InputError: an option is unknown or out of range.
    """
    options = dict(told)
    stop = options.pop("stop", None)
    try:
        return VotePlan(**options, stop=None if stop is None else parse_stop(str(stop)))
    except TypeError as error:
        raise InputError(f"this is no vote plan: {dict(told)!r:.200} ({error})") from error


def _budget(text: str, rest: str) -> Budget:
    limits: dict[str, float] = {}
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        if name not in ("tokens", "seconds") or not equals or name in limits:
            raise InputError(f"stop {text!r}: write budget:tokens=N, budget:seconds=S, or both with a comma")
        limits[name] = _number(text, value)
    tokens = limits.get("tokens")
    if tokens is not None and tokens != int(tokens):
        raise InputError(f"stop {text!r}: tokens must be a whole number, got {tokens:g}")
    return Budget(tokens=None if tokens is None else int(tokens), seconds=limits.get("seconds"))


def _number(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"stop {text!r}: {value!r} is no number") from None
