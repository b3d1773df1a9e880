"""The plan: which mode, who has which GPUs, who is awake when. Plain data that goes to disk and comes back equal.

The RL loop and the placement groups read it; ``planner`` makes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from .forecast import Advice, Memory, Prediction


class Mode(StrEnum):
    """How policy and judges share the GPUs."""

    SPLIT = "split"
    """Rollout and judges on GPUs of their own while they generate; the actor trains on all of them."""

    CO_RESIDENT = "co-resident"
    """Rollout and judges awake on the same GPUs, by shares of the card; the actor trains on all of them."""

    DEFER_SWAP = "defer-swap"
    """Rollout, judges and actor on the same GPUs, never awake together; the batch is judged after the rollout."""

    FULLY_ASYNC = "fully-async"
    """Every role on GPUs of its own, all awake."""


class Kind(StrEnum):
    """What a role does on its GPUs."""

    TRAIN = "train"
    FORWARD = "forward"
    ROLLOUT = "rollout"
    JUDGE = "judge"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one role (or one judge, by its route key) has.

    ``engines``: logical GPU indices of each engine, or of each rank of a trainer; empty for a role without GPUs.
    ``bundles``: the bundles that these are; for a role without GPUs the one CPU bundle.
    ``fraction``: share of each card's memory while awake; None for a trainer, which takes what it needs.
    ``ray_share``: what each of its actors may ask Ray for of a bundle, so that all that live there are schedulable.
    """

    name: str
    kind: Kind
    engines: tuple[tuple[int, ...], ...]
    bundles: tuple[int, ...]
    fraction: float | None = None
    ray_share: float = 1.0

    @property
    def gpus(self) -> tuple[int, ...]:
        """All its GPUs, ascending."""
        return tuple(gpu for engine in self.engines for gpu in engine)


class PhaseKind(StrEnum):
    """What happens in a phase."""

    GENERATE = "generate"
    JUDGE = "judge"
    SLEEP = "sleep"
    TRAIN = "train"
    SYNC = "sync"
    WAKE = "wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One stretch of a step. Entering it, whoever is in neither list goes to sleep, and is verified to be asleep.

    ``awake``: claims that are wholly awake. ``weights_only``: those whose weights alone are on the card.
    """

    kind: PhaseKind
    awake: tuple[str, ...] = ()
    weights_only: tuple[str, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """Everything that is decided before a run starts.

    ``bundles``: resources of each bundle, one per GPU in logical order, then one CPU bundle per role without GPUs.
    ``claims``: by role, for judges by route key. ``phases``: of one step, in order; in the fully asynchronous mode the
    one phase in which all run, and the synchronisation that interrupts the rollout. ``inline_reward``: each sample is
    judged as it ends. ``max_staleness``: weight versions that a sample may be old; 0 in the colocate modes.
    """

    mode: Mode
    cluster: str
    bundles: tuple[dict[str, float], ...]
    claims: dict[str, Claim]
    phases: tuple[Phase, ...]
    inline_reward: bool
    max_staleness: int
    warnings: tuple[str, ...] = ()
    memory: Memory | None = None
    prediction: Prediction | None = None
    advice: Advice | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """Route keys, in declaration order."""
        return tuple(name for name, claim in self.claims.items() if claim.kind == Kind.JUDGE)

    def on(self, gpu: int) -> tuple[Claim, ...]:
        """Who has a claim on a GPU."""
        return tuple(claim for claim in self.claims.values() if gpu in claim.gpus)


def ray_share(tenants: int) -> float:
    """Share of a bundle for each of so many actors, rounded down: rounded up they would not all be schedulable."""
    return 1.0 if tenants <= 1 else math.floor(100 / tenants) / 100
