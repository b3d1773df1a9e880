"""The main line and its ablations: which stages each has, and in which folder a stage lies. Pure.

A stage with the key of one that comes earlier lies in that one's folder: what is recorded there is used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.core.config import explain
from assay.core.errors import InputError

from .line import evaluated, stages
from .recipe import AblationRecipe, SpctRecipe
from .stage import Stage, keys_of, needed

MAIN = "main"
ABLATIONS = "ablations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A stage in its folder. ``owner``: the variant that it lies with."""

    stage: Stage
    key: str
    folder: Path
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A line of stages. ``ablation``: None for the main line."""

    name: str
    recipe: SpctRecipe
    ablation: AblationRecipe | None
    placed: tuple[Placed, ...]

    def folder(self, stage: str) -> Path:
        """The folder of one of its stages."""
        return self.at(stage).folder

    def at(self, stage: str) -> Placed:
        """One of its stages. Raises InputError: it has none of that name."""
        for one in self.placed:
            if one.stage.name == stage:
                return one
        there = ", ".join(one.stage.name for one in self.placed)
        raise InputError(f"{self.name!r} has no stage {stage!r}; there are {there}")


def variants(recipe: SpctRecipe, run_dir: Path, digests: Mapping[str, str] | None = None) -> tuple[Variant, ...]:
    """The main line, then every ablation of the recipe.

    Raises:
        InputError: an ablation sets something that is wrong or not there.
    """
    folders: dict[tuple[str, str], tuple[Path, str]] = {}
    found: list[Variant] = []
    for ablation in (None, *recipe.ablation):
        name = MAIN if ablation is None else ablation.name
        own = recipe if ablation is None else changed(recipe, ablation)
        line = _line(own, ablation, digests)
        keys, base = keys_of(line), run_dir if ablation is None else run_dir / ABLATIONS / name
        placed: list[Placed] = []
        for stage in line:
            key = keys[stage.name]
            folder, owner = folders.setdefault((stage.name, key), (base / stage.name, name))
            placed.append(Placed(stage=stage, key=key, folder=folder, owner=owner))
        found.append(Variant(name=name, recipe=own, ablation=ablation, placed=tuple(placed)))
    return tuple(found)


def changed(recipe: SpctRecipe, ablation: AblationRecipe) -> SpctRecipe:
    """The recipe with what the ablation sets.

    Raises:
        InputError: a name is not there, or a value is wrong.
    """
    told = recipe.model_dump(mode="json", exclude_unset=True)
    for dotted, value in ablation.set.items():
        if dotted.partition(".")[0] in ("ablation", "engine"):
            raise InputError(f"ablation {ablation.name!r}: {dotted!r} is the same for all of a run")
        _put(told, dotted.split("."), value)
    try:
        return SpctRecipe(**told)
    except ValidationError as error:
        raise InputError(f"ablation {ablation.name!r}: {explain(error)}") from error


def chosen(found: Sequence[Variant], names: Sequence[str]) -> tuple[Variant, ...]:
    """The main line, or the ablations that are named (``all``: every one).

    Raises:
        InputError: there is no such ablation.
    """
    if not names:
        return (found[0],)
    known = {one.name: one for one in found[1:]}
    if "all" in names:
        return tuple(known.values())
    for name in names:
        if name not in known:
            raise InputError(f"there is no ablation {name!r}; the recipe has {', '.join(known) or 'none'}, and all")
    return tuple(known[name] for name in dict.fromkeys(names))


def _line(recipe: SpctRecipe, ablation: AblationRecipe | None, digests: Mapping[str, str] | None) -> tuple[Stage, ...]:
    if ablation is None:
        return stages(recipe, digests=digests)
    every = stages(recipe, skip_sft=ablation.skip_sft, digests=digests)
    return needed(every, [evaluated(ablation.until)])


def _put(told: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *above, last = path
    for part in above:
        told = told.setdefault(part, {})
    told[last] = value
