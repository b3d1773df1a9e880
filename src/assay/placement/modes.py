"""Which mode the GPU counts make, or why none: the three numbers and the nearest layouts that would be legal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.core.errors import InputError

from .flags import PlacementFlags
from .plans import Mode

SHOWN = 3
"""Legal layouts that a refusal shows."""


class Layout(NamedTuple):
    """GPUs of the three roles that share a pool."""

    actor: int
    rollout: int
    genrm: int

    @property
    def name(self) -> str | None:
        """``split`` or ``shared``; None when it is neither."""
        if min(self.actor, self.rollout) < 1:
            return None
        if self.rollout + self.genrm == self.actor:
            return "split"
        return "shared" if self.rollout == self.genrm == self.actor else None

    def __str__(self) -> str:
        return f"actor {self.actor}, rollout {self.rollout}, genrm {self.genrm}"


def choose_mode(flags: PlacementFlags, counts: Mapping[str, int], cards: int) -> Mode:
    """The mode of these counts on a cluster with so many cards.

    Raises:
        InputError: they make none; the message has the numbers and the nearest legal layouts.
    """
    for role in ("actor", "rollout"):
        if not counts.get(role):
            told = "0 GPUs" if role in counts else "none"
            raise InputError(
                f'the {role} needs GPUs and has {told}; name them, e.g. --resource \'{{"actor": [1, 8], '
                '"rollout": [1, 4], "genrm": [1, 4]}\''
            )
    if flags.fully_async:
        return _alone(flags)
    if not flags.colocate:
        raise InputError("neither --colocate nor --fully-async is given; say whether the roles share one pool of GPUs")
    layout = Layout(counts["actor"], counts["rollout"], counts.get("genrm", 0))
    if layout.name is None:
        raise InputError(_refusal(layout, flags, cards))
    _check_guests(counts)
    if layout.name == "split":
        return _split(flags, layout)
    if not flags.defer_reward_to_post_process:
        return Mode.CO_RESIDENT
    if flags.rm_type != "dummy":
        raise InputError(
            f"--defer-reward-to-post-process with --rm-type {flags.rm_type!r}: no sample may be judged while the judge "
            "sleeps; give --rm-type dummy"
        )
    return Mode.DEFER_SWAP


def legal_layouts(layout: Layout, flags: PlacementFlags, cards: int) -> tuple[Layout, ...]:
    """Layouts near this one that are legal on so many cards, the least change first."""
    found = {near for near in _near(layout) if near.name is not None and near.actor <= cards and _fits(near, flags)}
    return tuple(sorted(found, key=lambda near: (*_change(near, layout), -near.actor, near)))


def _near(layout: Layout) -> Iterator[Layout]:
    actor, rollout, genrm = layout
    yield Layout(actor, rollout, actor - rollout)
    yield Layout(actor, actor - genrm, genrm)
    yield Layout(rollout + genrm, rollout, genrm)
    for pool in layout:
        yield Layout(pool, pool, pool)
        yield from (Layout(pool, part, pool - part) for part in range(1, pool))


def _fits(layout: Layout, flags: PlacementFlags) -> bool:
    """Whether engines fill it evenly; a judge that is configured with GPUs keeps some."""
    specs = flags.specs().values()
    sizes = [spec.num_gpus_per_engine for spec in specs if spec.num_gpus]
    judged = layout.genrm >= sum(sizes) > 0 if sizes else layout.genrm == 0
    # With several judges any sum may be made of their shares; with one it must divide.
    even = len(sizes) != 1 or layout.genrm % sizes[0] == 0
    return judged and even and layout.rollout % flags.rollout_num_gpus_per_engine == 0


def _change(one: Layout, other: Layout) -> tuple[int, int]:
    """How many roles have another number, and by how many GPUs in all."""
    changes = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(change > 0 for change in changes), sum(changes)


def _refusal(layout: Layout, flags: PlacementFlags, cards: int) -> str:
    near = legal_layouts(layout, flags, cards)[:SHOWN]
    legal = "; ".join(f"{one.name} with {one}" for one in near) or "none on this cluster"
    return (
        f"--colocate with {layout} is no legal layout: split needs rollout + genrm == actor "
        f"({layout.rollout} + {layout.genrm} = {layout.rollout + layout.genrm}, not {layout.actor}), shared needs "
        f"rollout == genrm == actor. Nearest legal: {legal}"
    )


def _alone(flags: PlacementFlags) -> Mode:
    if flags.defer_reward_to_post_process:
        raise InputError(
            "--defer-reward-to-post-process has no place in --fully-async, where judges never sleep; leave it out"
        )
    return Mode.FULLY_ASYNC


def _split(flags: PlacementFlags, layout: Layout) -> Mode:
    if flags.defer_reward_to_post_process:
        raise InputError(
            f"--defer-reward-to-post-process needs shared GPUs (rollout == genrm == actor), and {layout} is split; "
            f"leave it out, or give rollout and genrm {layout.actor} GPUs each"
        )
    return Mode.SPLIT


def _check_guests(counts: Mapping[str, int]) -> None:
    """The other roles run where the actor trains, so they have its GPUs or none."""
    for role in ("reference", "actor_fwd", "advantages"):
        if counts.get(role, 0) not in (0, counts["actor"]):
            raise InputError(
                f"--colocate: {role} has {counts[role]} GPUs; it runs on those of the actor, so give it 0 or "
                f"{counts['actor']}"
            )
