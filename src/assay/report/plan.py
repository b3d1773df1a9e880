"""A plan in the terminal: who has which GPUs, what is in their memory, how long a step takes, what would be faster."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.placement import GIB, Advice, Claim, Cluster, Kind, Memory, PlacementPlan, Prediction

from .words import duration, percent

TRAINS, GENERATES, JUDGES, READS = "T", "R", "J", "L"
LETTER = {Kind.TRAIN: TRAINS, Kind.ROLLOUT: GENERATES, Kind.JUDGE: JUDGES, Kind.FORWARD: READS, Kind.CPU: ""}
WIDE = 32
"""More GPUs than this are not drawn one by one."""


def print_plan(console: Console, plan: PlacementPlan, cluster: Cluster) -> None:
    """Print everything that the plan knows."""
    inline = "each sample is judged as it ends" if plan.inline_reward else "the batch is judged after the rollout"
    told = inline if plan.judges else "no judge"
    console.print(Text.assemble((str(plan.mode), "bold"), f" on {plan.cluster}: {told}"))
    console.print(claims_table(plan, cluster))
    console.print(_phases(plan))
    if plan.memory is not None:
        console.print()
        console.print(memory_table(plan.memory))
    if plan.prediction is not None:
        console.print()
        console.print(time_table(plan.prediction))
    if plan.advice is not None:
        console.print()
        console.print(advice_table(plan.advice))
        console.print(Text(plan.advice.verdict, style="bold"))
    for warning in plan.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def claims_table(plan: PlacementPlan, cluster: Cluster) -> Table:
    """Roles against the GPUs of each node: T trains, R generates, J judges, L reads log-probs."""
    table = _table("", "GPUs", "engines", "share")
    gpus = [index for index, bundle in enumerate(plan.bundles) if "GPU" in bundle]
    nodes = list(dict.fromkeys(map(cluster.node_of, gpus))) if len(gpus) <= WIDE else []
    for node in nodes:
        table.add_column(f"node {node}", no_wrap=True)
    for claim in plan.claims.values():
        share = "" if claim.fraction is None else f"{claim.fraction:g}"
        marks = (
            " ".join(LETTER[claim.kind] if gpu in claim.gpus else "·" for gpu in gpus if cluster.node_of(gpu) == node)
            for node in nodes
        )
        table.add_row(Text(claim.name, style="bold"), _gpus(claim), _engines(claim), share, *marks)
    return table


def memory_table(memory: Memory) -> Table:
    """Fullest card of each group of GPUs in each phase."""
    table = _table("memory, GiB", "phase", "of", "total", "what")
    for row in (*memory.cards, *memory.hosts):
        parts = ", ".join(f"{part} {size / GIB:.1f}" for part, size in row.parts.items())
        full = row.capacity is not None and row.total > row.capacity
        capacity = "?" if row.capacity is None else f"{row.capacity / GIB:.0f}"
        style = "red" if full else ""
        table.add_row(Text(row.where), row.phase, capacity, Text(f"{row.total / GIB:.1f}", style=style), Text(parts))
    return table


def time_table(prediction: Prediction) -> Table:
    """Seconds of each phase of one step."""
    table = _table("one step, predicted", "", "")
    for phase, seconds in prediction.phases.items():
        table.add_row(phase, duration(seconds), percent(seconds / prediction.seconds))
    table.add_row(Text("step", style="bold"), Text(duration(prediction.seconds), style="bold"), "")
    idle = f"{percent(min(prediction.idle))} to {percent(max(prediction.idle))}"
    table.add_row("GPUs idle", percent(prediction.mean_idle), idle)
    return table


def advice_table(advice: Advice) -> Table:
    """The given layout, and the best of each mode."""
    table = _table("on the same GPUs", "layout", "step", "idle")
    for option in advice.options:
        seconds = "" if option.seconds is None else duration(option.seconds)
        idle = Text(option.refused or "", style="dim") if option.idle is None else Text(percent(option.idle))
        table.add_row(option.mode, Text(option.layout), seconds, idle)
    return table


def _phases(plan: PlacementPlan) -> Table:
    table = _table("phase", "awake", "")
    for number, phase in enumerate(plan.phases, 1):
        weights = ", ".join(f"{name} (weights)" for name in phase.weights_only)
        awake = ", ".join(filter(None, [*phase.awake, weights]))
        table.add_row(f"{number} {phase.kind}", Text(awake or "nobody"), Text(phase.about, style="dim"))
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, overflow="fold", justify="left" if place == 0 or head in _LEFT else "right")
    return table


_LEFT = ("phase", "what", "layout", "awake", "GPUs", "")


def _gpus(claim: Claim) -> str:
    if not claim.gpus:
        return "CPU"
    first, last = claim.gpus[0], claim.gpus[-1]
    return str(first) if first == last else f"{first}–{last}"


def _engines(claim: Claim) -> str:
    if not claim.engines:
        return ""
    size = len(claim.engines[0])
    return f"{len(claim.engines)} x {size}" if claim.kind in (Kind.ROLLOUT, Kind.JUDGE) else f"{len(claim.gpus)} ranks"
