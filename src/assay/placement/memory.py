"""Whether it fits: bytes on the fullest card of each claim and phase, and on each host.

An engine takes its share of the card: weights, and cache with the rest. Whoever sleeps leaves a CUDA context behind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .claims import ALONE
from .cluster import GIB, Cluster
from .forecast import Memory, MemoryRow
from .job import Job
from .model import ModelShape
from .plans import Claim, Kind, Mode, Phase, PhaseKind, PlacementPlan
from .trainer import awake_bytes, reference_bytes, states_bytes

CONTEXT = int(1.2 * GIB)
"""What a process keeps on a card while it sleeps (measured with SGLang 0.5.17: 1.1 to 1.5 GB)."""

GRAPHS = int(1.0 * GIB)
"""What an engine takes beside its share: CUDA graphs, activations."""


def estimate_memory(plan: PlacementPlan, cluster: Cluster, job: Job) -> Memory:
    """Memory of the plan; what cannot be is in ``refusals``, what may not be in ``warnings``."""
    cards = tuple(_card_rows(plan, cluster, job))
    hosts = tuple(_host_rows(plan, cluster, job))
    refusals = [*_engine_refusals(plan, cluster, job)]
    warnings = [*_long(plan, cluster, job)]
    for row in cards:
        sure = row.total - row.parts.get("activations", 0)
        told = f"{row.where}, {row.phase}: {_gib(row.total)} of {_gib(row.capacity or 0)} GiB ({_parts(row)})"
        if sure > (row.capacity or sure):
            refusals.append(f"{told}; train on more GPUs, with --training '{{\"lora_rank\": 16}}', or a smaller share")
        elif row.total > (row.capacity or row.total):
            warnings.append(f"{told}; lower micro_batch_tokens")
    for row in hosts:
        if row.capacity is not None and row.total > row.capacity:
            refusals.append(f"{row.where}: backups take {_gib(row.total)} of {_gib(row.capacity)} GiB ({_parts(row)})")
    tokens = {name: kv_tokens(claim, cluster, shape) for name, claim, shape in _engines(plan, job)}
    return Memory(cards=cards, hosts=hosts, kv_tokens=tokens, refusals=tuple(refusals), warnings=tuple(warnings))


def kv_tokens(claim: Claim, cluster: Cluster, shape: ModelShape) -> int:
    """Tokens that the cache of one engine holds; 0 when the weights leave no room."""
    size = len(claim.engines[0])
    room = share_bytes(claim, cluster) - shape.stored // size
    return max(0, room // max(1, shape.cache_bytes(size)))


def share_bytes(claim: Claim, cluster: Cluster) -> int:
    """Bytes of each card that an engine may take."""
    return int((claim.fraction or ALONE) * cluster.card.memory)


def _engines(plan: PlacementPlan, job: Job) -> Iterator[tuple[str, Claim, ModelShape]]:
    for name, claim in plan.claims.items():
        shape = job.policy if claim.kind == Kind.ROLLOUT else job.judges.get(name)
        if claim.kind in (Kind.ROLLOUT, Kind.JUDGE) and claim.engines and shape is not None:
            yield name, claim, shape


def _card_rows(plan: PlacementPlan, cluster: Cluster, job: Job) -> Iterator[MemoryRow]:
    """A row for each phase and each set of tenants; cards with the same tenants are alike, and so may be phases."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for gpu, bundle in enumerate(plan.bundles):
        if "GPU" in bundle:
            alike.setdefault(tuple(claim.name for claim in plan.on(gpu)), []).append(gpu)
    for gpus in alike.values():
        told, seen = _range(gpus), list[dict[str, int]]()
        for number, phase in enumerate(plan.phases):
            # Going to sleep frees memory, and nothing else happens there.
            if phase.kind == PhaseKind.SLEEP:
                continue
            parts = _parts_on(gpus[0], phase, plan, cluster, job)
            if parts in seen:
                continue
            seen.append(parts)
            yield MemoryRow(where=told, phase=f"{number + 1} {phase.kind}", parts=parts, capacity=cluster.card.memory)


def _parts_on(gpu: int, phase: Phase, plan: PlacementPlan, cluster: Cluster, job: Job) -> dict[str, int]:
    parts: dict[str, int] = {}
    for claim in plan.on(gpu):
        for part, size in _of_claim(claim, phase, plan, cluster, job).items():
            parts[part] = parts.get(part, 0) + size
    return {part: size for part, size in parts.items() if size}


def _of_claim(claim: Claim, phase: Phase, plan: PlacementPlan, cluster: Cluster, job: Job) -> dict[str, int]:
    awake, weights_only = claim.name in phase.awake, claim.name in phase.weights_only
    ranks = len(claim.engines)
    if claim.kind == Kind.TRAIN:
        if awake:
            # Where the reference has no claim of its own, the actor's ranks hold it.
            guest = job.training.reference and "reference" not in plan.claims
            reference = reference_bytes(job.policy, job.training, ranks) if guest else 0
            return {"context": CONTEXT, "reference": reference, **awake_bytes(job.policy, job.training, ranks)}
        return {"context": CONTEXT, "weights": 2 * job.policy.parameters // ranks if weights_only else 0}
    if claim.kind == Kind.FORWARD:
        return {"context": CONTEXT, "reference": 2 * job.policy.parameters // ranks if awake else 0}
    shape = job.policy if claim.kind == Kind.ROLLOUT else job.judges.get(claim.name)
    if shape is None:
        return {claim.name: share_bytes(claim, cluster) if awake else 0, "context": CONTEXT}
    weights = shape.stored // len(claim.engines[0])
    if awake:
        cache = max(0, share_bytes(claim, cluster) - weights)
        return {"context": CONTEXT, "graphs": GRAPHS, f"{claim.name} weights": weights, f"{claim.name} cache": cache}
    return {"context": CONTEXT, f"{claim.name} weights": weights if weights_only else 0}


def _host_rows(plan: PlacementPlan, cluster: Cluster, job: Job) -> Iterator[MemoryRow]:
    """Backups on each node: sleeping actors and judges. Nobody sleeps in the fully asynchronous mode."""
    if plan.mode == Mode.FULLY_ASYNC:
        return
    edges = cluster.edges
    for node in range(len(cluster.gpus)):
        here = range(edges[node], edges[node + 1])
        parts: dict[str, int] = {}
        for claim in plan.claims.values():
            share = sum(gpu in here for gpu in claim.gpus)
            if claim.kind == Kind.TRAIN:
                parts["actor"] = states_bytes(job.policy, job.training) * share // len(claim.gpus)
                if job.training.reference:
                    parts["reference"] = reference_bytes(job.policy, job.training, 1) * share // len(claim.gpus)
            elif claim.kind == Kind.JUDGE and claim.name in job.judges and claim.engines:
                parts[claim.name] = job.judges[claim.name].stored * share // len(claim.engines[0])
        found = {part: size for part, size in parts.items() if size}
        if found:
            yield MemoryRow(where=f"host {node}", phase="backups", parts=found, capacity=cluster.host_memory)


def _engine_refusals(plan: PlacementPlan, cluster: Cluster, job: Job) -> Iterator[str]:
    for name, claim, shape in _engines(plan, job):
        size = len(claim.engines[0])
        weights, share = shape.stored // size, share_bytes(claim, cluster)
        need = weights + _longest(name, claim, job) * shape.cache_bytes(size)
        if need > share:
            fraction = math.ceil(100 * need / cluster.card.memory) / 100
            fix = f"a share of at least {fraction:.2f}, or" if fraction < 1 else "a larger engine:"
            yield (
                f"{name!r}: weights ({_gib(weights)} GiB a card) and the cache of one request take {_gib(need)} GiB, "
                f"its share of the card is {_gib(share)} GiB; give it {fix} more than {size} GPUs per engine"
            )


def _long(plan: PlacementPlan, cluster: Cluster, job: Job) -> Iterator[str]:
    """Caches that hold few requests make engines slow."""
    for name, claim, shape in _engines(plan, job):
        fits = kv_tokens(claim, cluster, shape) // _longest(name, claim, job)
        if 0 < fits < 8:
            yield f"{name!r}: its cache holds only {fits} requests of full length"


def _longest(name: str, claim: Claim, job: Job) -> int:
    if name in job.contexts:
        return job.contexts[name]
    if claim.kind == Kind.ROLLOUT:
        work = job.workload
        return work.prompt_tokens + (work.response_max or work.response_tokens)
    load = job.load(name)
    return load.prompt_tokens + load.response_tokens


def _range(gpus: list[int]) -> str:
    if len(gpus) == 1:
        return f"GPU {gpus[0]}"
    ends = f"{gpus[0]}–{gpus[-1]}" if gpus[-1] - gpus[0] == len(gpus) - 1 else ", ".join(map(str, gpus))
    return f"GPU {ends}"


def _parts(row: MemoryRow) -> str:
    return ", ".join(f"{part} {_gib(size)}" for part, size in row.parts.items())


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}"
