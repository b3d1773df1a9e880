"""What is due: the stages of the lines that are asked for, how each stands, and what stands in the way. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError

from .mark import Mark, Standing, differences, standing
from .stage import behind
from .variants import MAIN, Placed, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A stage that is asked for."""

    variant: Variant
    placed: Placed
    mark: Mark | None
    standing: Standing

    @property
    def name(self) -> str:
        """As a message has it."""
        return self.placed.stage.name if self.variant.name == MAIN else f"{self.variant.name}/{self.placed.stage.name}"

    @property
    def done(self) -> bool:
        return self.standing == "done"

    def check(self) -> None:
        """Raises InputError: the folder holds another stage, or one made of what is no longer there."""
        if self.standing not in ("changed", "stale") or self.mark is None:
            return
        folder, name = str(self.placed.folder), self.placed.stage.name
        if self.standing == "stale":
            raise InputError(
                f"{self.name}: {folder!r} was made of stages that have been made anew since; give --redo {name}"
            )
        told = differences(self.mark, self.placed.stage)
        why = "; ".join(told[:4]) or "a stage that it needs, or its commands, are others"
        raise InputError(
            f"{self.name}: {folder!r} was begun with {why}: restore that, name another --run-dir, or give --redo {name}"
        )


def due(asked: Sequence[Variant], only: Sequence[str], marks: Mapping[Path, Mark | None]) -> list[Due]:
    """The stages that are asked for, in order, each folder once.

    Args:
        only: names of stages; empty: all.
        marks: by folder.

    Raises:
        InputError: no line has a stage of that name.
    """
    there = dict.fromkeys(one.stage.name for variant in asked for one in variant.placed)
    for name in only:
        if name not in there:
            raise InputError(f"there is no stage {name!r}; there are {', '.join(there)}, report")
    found: dict[Path, Due] = {}
    for variant in asked:
        for one in variant.placed:
            if one.folder in found or (only and one.stage.name not in only):
                continue
            needs = {need: _made(marks.get(variant.folder(need))) for need in one.stage.needs}
            mark = marks.get(one.folder)
            found[one.folder] = Due(variant=variant, placed=one, mark=mark, standing=standing(mark, one.key, needs))
    return list(found.values())


def remove_first(variant: Variant, names: Sequence[str]) -> list[Placed]:
    """What is removed so that the named stages are made anew: they, and all behind them.

    Raises:
        InputError: there is no such stage, or it is shared with a line that comes before.
    """
    for name in names:
        owner = variant.at(name).owner
        if owner != variant.name:
            raise InputError(f"--redo {name}: {variant.name!r} shares this stage with {owner!r}; redo it there")
    stages = [one.stage for one in variant.placed]
    wanted = {name for first in names for name in behind(stages, variant.at(first).stage.name)}
    return [one for one in variant.placed if one.stage.name in wanted]


def _made(mark: Mark | None) -> str | None:
    return None if mark is None else mark.made
