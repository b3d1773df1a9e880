"""The planner's word on a layout, written before the layout runs, and afterwards beside what was measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.placement import (
    JudgeLoad,
    PlacementFlags,
    Rates,
    Training,
    Workload,
    dump_plan,
    make_job,
    measured_rates,
    measured_workload,
    parse_cluster,
    plan,
    read_shape,
)

TRAINING = Training(old_logprobs=False, checkpointing=False)


def predict(flags: dict[str, Any], policy: Path, judge: Path, work: Workload, out: Path, measured: list[Path]) -> None:
    """Write ``out``: the plan of these flags with rates from the runs in ``measured``, the last of them winning."""
    own = PlacementFlags(**{name: value for name, value in flags.items() if name in PlacementFlags.model_fields})
    shapes = {name: _shape(judge, name) for name in own.specs()}
    rates = Rates()
    for run in measured:
        lines = steps(run)
        work = measured_workload(lines, work)
        rates = measured_rates(lines, work, judges=list(own.specs()), known=rates)
    job = make_job(own, _shape(policy, "policy"), shapes, workload=work, training=TRAINING, rates=rates)
    made = plan(own, parse_cluster(flags["cluster"]), job, compare=False)
    out.write_text(json.dumps({"plan": dump_plan(made), "rates": rates.model_dump()}, indent=1))


def steps(run: Path) -> list[dict[str, float]]:
    """The training steps of a run."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["step"] >= 0]


def workload(prompts: int, samples: int, response: int, judge_prompt: int) -> Workload:
    """The work of one step: short sums, and a judge that says one token."""
    load = JudgeLoad(prompt_tokens=judge_prompt, response_tokens=1)
    return Workload(
        prompts=prompts, samples=samples, prompt_tokens=45, response_tokens=response, spread=0.0, judge=load
    )


@dataclass(frozen=True, slots=True)
class Predicted:
    """What the planner said: seconds of a step, and of its phases."""

    seconds: float
    phases: dict[str, float]

    def words(self) -> str:
        """The phases in one line."""
        return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.phases.items() if seconds)


def predicted(written: Path) -> Predicted:
    """Read what ``predict`` wrote."""
    said = json.loads(written.read_text())["plan"]["prediction"]
    return Predicted(said["seconds"], said["phases"])


def _shape(folder: Path, name: str) -> Any:
    return read_shape(json.loads((folder / "config.json").read_text()), name)
