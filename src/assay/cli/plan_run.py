"""What ``assay plan`` does with its flags: read the models' descriptions, plan, print, draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from assay.core.errors import InputError
from assay.placement import (
    Job,
    ModelShape,
    PlacementFlags,
    Rates,
    Training,
    Workload,
    dump_plan,
    make_job,
    measured_rates,
    measured_workload,
    parse_cluster,
    place,
    plan,
    read_shape,
)
from assay.report.gantt import write_gantt
from assay.report.plan import print_plan
from assay.rl.config import TrainConfig
from assay.rl.workload import planned_training, planned_workload
from assay.tracking.lines import NAME, read_lines

from .declare import checked
from .plan import PlanFlags
from .recipe import over_recipe, read_recipe


def plan_run(flags: PlanFlags) -> None:
    """Run the verb."""
    if flags.recipe is not None:
        flags = _with_recipe(flags, flags.recipe)
    cluster = parse_cluster(flags.cluster, flags.host_memory_gib)
    made = plan(flags, cluster, _job(flags))
    if flags.as_json:
        print(json.dumps(dump_plan(made), indent=2))
    else:
        print_plan(Console(), made, cluster)
    if flags.gantt is not None:
        if made.prediction is None:
            raise InputError(f"--gantt {str(flags.gantt)!r} needs a prediction: give --model-config")
        write_gantt(flags.gantt, made)


def _with_recipe(flags: PlanFlags, recipe: Path) -> PlanFlags:
    """The flags, with what a training run's file says under them.

    Raises:
        InputError: it is no configuration of a training run, or one that has nothing to place.
    """
    said = {name: value for name, value in flags if name in flags.model_fields_set and name != "recipe"}
    told = read_recipe(recipe)
    also = {name: value for name, value in said.items() if name in TrainConfig.model_fields}
    run = over_recipe(TrainConfig, recipe, told, also)
    if run.resource is None:
        raise InputError(f"{recipe}: it runs in one process and places nothing on GPUs (no resource): nothing to plan")
    placing = PlacementFlags.model_fields.keys() | {"cluster", "reward_key"}
    named: dict[str, Any] = {name: value for name, value in told.items() if name in placing}
    if Path(run.hf_checkpoint, "config.json").is_file():
        named["policy_config"] = Path(run.hf_checkpoint)
    work, asked = planned_workload(run).model_dump(), flags.workload.model_dump(exclude_unset=True)
    judge = work["judge"] | asked.get("judge", {})
    training = planned_training(run).model_dump() | flags.training.model_dump(exclude_unset=True)
    own = {"workload": Workload(**{**work, **asked, "judge": judge}), "training": Training(**training)}
    given = {name: value for name, value in {**named, **said, **own}.items() if value is not None}
    return checked(PlanFlags, **given)


def _job(flags: PlanFlags) -> Job | None:
    if flags.policy_config is None:
        return None
    policy = _shape(flags.policy_config, "policy")
    workload, rates = _speeds(flags)
    return make_job(flags, policy, _judges(flags), workload=workload, training=flags.training, rates=rates)


def _speeds(flags: PlanFlags) -> tuple[Workload, Rates]:
    """What the flags say; with ``--rates-from`` the rest is what that run measured."""
    if flags.rates_from is None:
        return flags.workload, flags.rates
    steps = _steps(flags.rates_from)
    work = measured_workload(steps, flags.workload)
    placed = place(flags, parse_cluster(flags.cluster, flags.host_memory_gib))
    claims = {name: placed.claims[name] for name in ("rollout", "actor")}
    measured = measured_rates(
        steps,
        work,
        rollout_engines=max(1, len(claims["rollout"].engines)),
        actor_gpus=max(1, len(claims["actor"].gpus)),
        judges=list(flags.specs()),
    )
    said = {name: getattr(flags.rates, name) for name in flags.rates.model_fields_set}
    return work, measured.model_copy(update=said)


def _steps(run: Path) -> list[dict[str, float]]:
    """Also of a run that goes on: a line half written is left out, and so are numbers that were not finite."""
    try:
        lines = read_lines(run / NAME if run.is_dir() else run)
    except InputError as error:
        raise InputError(f"--rates-from {str(run)!r}: {error}") from error
    return [{name: value for name, value in line.items() if value is not None} for line in lines]


def _judges(flags: PlanFlags) -> dict[str, ModelShape]:
    """By ``--judge-config``, else out of the judge's own folder where that is on this machine."""
    shapes: dict[str, ModelShape] = {}
    for said in flags.judge_config:
        key, equals, path = said.partition("=")
        for name in [key] if equals else flags.specs():
            shapes[name] = _shape(Path(path if equals else said), name)
    for key, spec in flags.specs().items():
        folder = Path(spec.model_path)
        if key not in shapes and (folder / "config.json").is_file():
            shapes[key] = _shape(folder, key)
    return shapes


def _shape(path: Path, name: str) -> ModelShape:
    file = path / "config.json" if path.is_dir() else path
    try:
        config: Any = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read the configuration of {name!r}, {str(file)!r}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"the configuration of {name!r}, {str(file)!r}, is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"the configuration of {name!r}, {str(file)!r}, is no JSON object")
    return read_shape(cast("dict[str, Any]", config), name)
