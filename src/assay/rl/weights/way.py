"""Which way weights go from the trainer to the rollout engines: the decision, from facts. Pure; see the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core.errors import InputError

Way = Literal["tensor", "nccl", "store", "disk"]
Asked = Literal["auto", "tensor", "nccl", "store", "disk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WayFacts:
    """What the ways depend on.

    ``in_process``: the engine lives in the trainer's process and takes tensors. ``ranks``: the card of each of the
    trainer's ranks, by any of its names; the first rank broadcasts; empty where it runs without CUDA. ``engines``: the
    cards of each rollout engine. With ``ray`` a card has one name, which no card of another node has. ``parallel``:
    what splits an engine beside tensor parallelism. ``rereads``: the engines need files to wake up from.
    ``stored_otherwise``: why weights as the trainer has them are not those of a checkpoint; None: they are.
    """

    engine: Literal["embedded", "sglang", "fake"]
    ray: bool
    in_process: bool = False
    ranks: tuple[frozenset[str], ...] = ()
    engines: tuple[tuple[str, ...], ...] = ()
    parallel: Sequence[str] = ()
    rereads: bool = False
    stored_otherwise: str | None = None


def pick_way(asked: Asked, facts: WayFacts) -> Way:
    """The way that was asked for, or the best one that there is.

    Raises:
        InputError: this way cannot be; the message says why, and what can.
    """
    whys: dict[Way, str | None] = {way: why_not(way, facts) for way in ("tensor", "nccl", "store", "disk")}
    if asked == "auto":
        return next(way for way, why in whys.items() if why is None)
    why = whys[asked]
    if why is not None:
        others = ", ".join(way for way, against in whys.items() if against is None)
        raise InputError(f"--weight-sync {asked}: {why}; fix: --weight-sync auto (what can be here: {others})")
    return asked


def why_not(way: Way, facts: WayFacts) -> str | None:
    """What stands in the way; None: nothing does."""
    match way:
        case "disk":
            return None
        case "store":
            return _not_store(facts)
        case "tensor":
            return _not_sent(facts) or _not_tensor(facts)
        case "nccl":
            return _not_sent(facts) or _not_nccl(facts)


def _not_store(facts: WayFacts) -> str | None:
    if not facts.ray:
        return "there is no object store without --ray"
    if facts.engine == "sglang":
        return "SGLang servers do not read Ray's object store"
    if facts.rereads:
        return "rollout engines that sleep on simulated GPUs need a folder to wake up from"
    return None


def _not_sent(facts: WayFacts) -> str | None:
    """Why an SGLang server cannot take buckets from the trainer."""
    if facts.engine != "sglang":
        return None
    if not facts.ranks:
        return "it sends from a CUDA card, and the trainer runs on the CPU"
    if facts.parallel:
        return f"SGLang takes weights from a trainer only without {' and '.join(facts.parallel)}"
    return facts.stored_otherwise


def _not_tensor(facts: WayFacts) -> str | None:
    if facts.engine != "sglang":
        return None if facts.in_process else f"this {facts.engine} engine is not in the trainer's process"
    held = frozenset[str]().union(*facts.ranks)
    for cards in facts.engines:
        # Each rank of such an engine reads what a rank of the trainer has on the very same card.
        alone = [card for card in cards if card not in held] if facts.ray else []
        if alone and len(cards) > 1:
            return f"no rank of the trainer is on card {alone[0]} of the engine that has {', '.join(cards)}"
        if not held & set(cards):
            return f"no rank of the trainer is on a card of the engine that has {', '.join(cards)}"
    return None


def _not_nccl(facts: WayFacts) -> str | None:
    if facts.engine != "sglang":
        return f"{facts.engine} engines join no process group"
    for cards in facts.engines:
        if facts.ranks[0] & set(cards):
            return (
                f"the trainer's first rank, which broadcasts, is on a card of the engine that has {', '.join(cards)}, "
                "and NCCL cannot have two ranks on one card"
            )
    return None
