"""``assay plan``: who would run where, whether it fits, how long a step takes, what would be faster. The flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.placement import PlacementFlags, Rates, Training, Workload


class PlanFlags(PlacementFlags):
    """Plan a training run before it takes any GPU: placement, memory, time of a step, which mode would be faster."""

    recipe: Annotated[Path | None, typer.Option("--config", "-c")] = None
    """Plan what a recipe of assay train (TOML), or the JSON of its --dump-config, would run; flags here win."""
    cluster: str = "1x8xH200"
    """Nodes x GPUs x card: H200, H100, A100 or CPU; other nodes are added with +."""
    host_memory_gib: float | None = None
    """Main memory of a node; backups are checked against it."""
    policy_config: Annotated[Path | None, typer.Option("--model-config")] = None
    """config.json of the policy, or its folder; without it only the placement is planned."""
    judge_config: tuple[str, ...] = ()
    """config.json of the judge, or its folder; with several judges route_key=PATH, repeatable."""
    workload: Workload = Workload()
    """JSON: prompts, samples, prompt_tokens, response_tokens, spread, response_max, judge {...}, judges {...}."""
    training: Training = Training()
    """JSON: dtype, lora_rank, checkpointing, micro_batch_tokens, reference, old_logprobs."""
    rates: Rates = Rates()
    """JSON: measured speeds, e.g. {"rollout": {"tokens_per_s": [[1, 300], [64, 9000]]}, "sync_s": 2}."""
    rates_from: Path | None = None
    """A run's folder: speeds and response length out of its metrics.jsonl, instead of assumed ones; --rates wins."""
    reward_key: str | None = None
    """Taken so that a training command can be pasted; nothing here depends on it."""
    gantt: Path | None = None
    """Also draw one step: plan.html, plan.svg or plan.png."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the plan as JSON, as a run reads it, and nothing else."""
