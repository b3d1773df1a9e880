"""The flags that decide who runs where, under the names of the seeds, and the GPU counts that follow from them.

Owns names, defaults and what can be wrong with one flag or between two that say the same thing. Whether the counts
make a legal layout is for ``modes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, field_validator, model_validator

from assay.wire.genrm import GenRMConfig

ROLES = ("actor", "rollout", "reference", "actor_fwd", "advantages", "genrm")
"""The roles of ``--resource``."""

Count = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(gt=0, lt=1)]


class PlacementFlags(GenRMConfig):
    """Placement of policy and judges on GPUs."""

    resource: dict[str, tuple[Count, Count]] | None = None
    """JSON: {role: [num_groups, num_gpus_per_group]}; roles actor, rollout, reference, actor_fwd, advantages, genrm."""
    colocate: bool = False
    """All roles share one pool: the actor takes every GPU back to train."""
    fully_async: bool = False
    """Every role has a pool of its own; rollout and training overlap."""
    rollout_num_gpus: Count | None = None
    """GPUs that generate; must agree with --resource where both say it."""
    rollout_num_gpus_per_engine: Annotated[int, Field(ge=1)] = 1
    """GPUs of one rollout engine."""
    sglang_mem_fraction_static: Fraction | None = None
    """Share of a card that a rollout engine takes; required where judge and rollout are on a card together."""
    rm_type: str | None = None
    """Which reward: dapo-genrm, math, dummy, ..."""
    custom_rm_path: str | None = None
    """module.function of a reward of your own."""
    defer_reward_to_post_process: bool = False
    """Judge the whole batch after the rollout instead of each sample as it ends."""
    custom_reward_post_process_path: str | None = None
    """module.function that judges the deferred batch; there is a built-in one."""
    max_staleness: Annotated[int, Field(ge=0)] | None = None
    """With --fully-async: how many weight versions old a sample may be; not said = 1."""

    @model_validator(mode="before")
    @classmethod
    def _judge_from_resource(cls, given: Any) -> Any:
        """The one judge has the GPUs that ``resource`` gives to ``genrm``, unless its own flag says a number."""
        if not isinstance(given, Mapping):
            return given
        said = cast("Mapping[str, Any]", given)
        if said.get("genrm_num_gpus") is not None or said.get("genrm_model_path") is None:
            return said
        pair = cast("Any", said.get("resource") or {})
        match pair.get("genrm") if isinstance(pair, Mapping) else None:
            case (int(groups), int(each)) | [int(groups), int(each)]:
                return {**said, "genrm_num_gpus": groups * each}
            case _:
                return said

    @field_validator("resource", mode="before")
    @classmethod
    def _pairs(cls, given: Any) -> Any:
        for role, pair in cast("Mapping[str, Any]", given).items() if isinstance(given, Mapping) else ():
            if not isinstance(pair, list | tuple) or len(cast("Sequence[Any]", pair)) != 2:
                raise ValueError(f'{role!r} is {pair!r}: write [groups, GPUs of each], such as {{"{role}": [1, 8]}}')
        return given

    @field_validator("resource")
    @classmethod
    def _roles(cls, resource: dict[str, tuple[int, int]] | None) -> dict[str, tuple[int, int]] | None:
        for role in resource or ():
            if role not in ROLES:
                raise ValueError(f"there is no role {role!r}; roles are {', '.join(ROLES)}")
        return resource

    @model_validator(mode="after")
    def _agree(self) -> PlacementFlags:
        if self.colocate and self.fully_async:
            raise ValueError("--colocate and --fully-async exclude each other; give one")
        for key in self.genrm_instances or ():
            if key in ROLES:
                raise ValueError(f"genrm_instances: {key!r} is the name of a role; choose another route key")
        rollout = self._said("rollout")
        if None not in (rollout, self.rollout_num_gpus) and rollout != self.rollout_num_gpus:
            raise ValueError(
                f"--rollout-num-gpus {self.rollout_num_gpus} disagrees with --resource, which gives rollout "
                f"{rollout} GPUs; make them equal or leave one out"
            )
        self._check_judges()
        return self

    def _check_judges(self) -> None:
        genrm, specs = self._said("genrm"), self.specs()
        total = sum(spec.num_gpus for spec in specs.values())
        if genrm is None or genrm == total:
            return
        if not specs:
            raise ValueError(
                f"--resource gives genrm {genrm} GPUs and no judge is configured; give --genrm-model-path or "
                "--genrm-instances, or take genrm out"
            )
        parts = " + ".join(f"{spec.num_gpus} ({key})" for key, spec in specs.items())
        raise ValueError(
            f"--resource gives genrm {genrm} GPUs and the judges' num_gpus are {parts} = {total}; make them equal"
        )

    def _said(self, role: str) -> int | None:
        groups = (self.resource or {}).get(role)
        return None if groups is None else groups[0] * groups[1]

    def counts(self) -> dict[str, int]:
        """GPUs of every role that is named, in the order of ``resource``; rollout and judges also by their flags."""
        found = {role: groups * each for role, (groups, each) in (self.resource or {}).items()}
        if "rollout" not in found and self.rollout_num_gpus is not None:
            found["rollout"] = self.rollout_num_gpus
        if "genrm" not in found and (specs := self.specs()):
            found["genrm"] = sum(spec.num_gpus for spec in specs.values())
        return found
