"""The phases of one step: who is awake when. Engines sleep before the actor wakes, and wake after it sleeps."""

from __future__ import annotations

from collections.abc import Mapping

from .plans import Claim, Kind, Mode, Phase, PhaseKind


def make_phases(mode: Mode, claims: Mapping[str, Claim]) -> tuple[Phase, ...]:
    """The phases in order; the step after begins with the first again."""
    named = {kind: tuple(name for name, claim in claims.items() if claim.kind == kind) for kind in Kind}
    judges, trainers = named[Kind.JUDGE], named[Kind.TRAIN] + named[Kind.FORWARD]
    if mode == Mode.FULLY_ASYNC:
        return _async(tuple(claims))
    if mode == Mode.DEFER_SWAP:
        return (
            Phase(kind=PhaseKind.GENERATE, awake=("rollout",), about="rollout of the whole batch, without rewards"),
            Phase(kind=PhaseKind.SLEEP, about="rollout to sleep"),
            Phase(kind=PhaseKind.JUDGE, awake=judges, about="judges wake and score the whole batch"),
            Phase(kind=PhaseKind.SLEEP, about="judges to sleep"),
            *_train_and_sync(trainers),
            Phase(kind=PhaseKind.WAKE, awake=("rollout",), about="KV cache of the rollout; judges go on sleeping"),
        )
    judging = "; each sample is judged as it ends" if judges else ""
    return (
        Phase(kind=PhaseKind.GENERATE, awake=("rollout", *judges), about=f"rollout{judging}"),
        Phase(kind=PhaseKind.SLEEP, about="rollout and judges to sleep; a barrier"),
        *_train_and_sync(trainers),
        Phase(
            kind=PhaseKind.WAKE,
            awake=("rollout", *judges),
            about="KV cache of the rollout and the judges wake together; judges from their own backup",
        ),
    )


def _train_and_sync(trainers: tuple[str, ...]) -> tuple[Phase, ...]:
    return (
        Phase(kind=PhaseKind.TRAIN, awake=trainers, about="actor wakes, trains on all GPUs, sleeps"),
        Phase(kind=PhaseKind.SYNC, weights_only=("actor", "rollout"), about="weights of the actor to the rollout"),
    )


def _async(everyone: tuple[str, ...]) -> tuple[Phase, ...]:
    return (
        Phase(kind=PhaseKind.GENERATE, awake=everyone, about="the batch that is due, out of the buffer"),
        Phase(kind=PhaseKind.TRAIN, awake=everyone, about="training, while rollouts and judging go on"),
        Phase(kind=PhaseKind.SYNC, awake=everyone, about="rollout pauses for the weights; training goes on"),
    )
