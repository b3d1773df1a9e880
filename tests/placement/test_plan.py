"""What holds for every plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.placement import (
    Cluster,
    Kind,
    Mode,
    PhaseKind,
    PlacementFlags,
    PlacementPlan,
    dump_plan,
    load_plan,
    parse_cluster,
    place,
)

from . import scripts
from .scripts import flags


@st.composite
def requests(draw: st.DrawFn) -> tuple[PlacementFlags, Cluster]:
    nodes, each = draw(st.integers(1, 3)), draw(st.sampled_from([2, 4, 8]))
    instances = {
        f"judge{i}": {"model_path": "m", "num_gpus": size * count, "num_gpus_per_engine": size}
        for i, (size, count) in enumerate(
            draw(st.lists(st.tuples(st.sampled_from([1, 2, 4]), st.integers(1, 3)), min_size=1, max_size=3))
        )
    }
    genrm = sum(int(instance["num_gpus"]) for instance in instances.values())
    rollout = draw(st.integers(1, 12))
    shared = draw(st.booleans())
    apart = draw(st.booleans())
    actor = draw(st.integers(1, 8)) if apart else genrm if shared else rollout + genrm
    given: dict[str, Any] = {
        "genrm_instances": instances,
        "genrm_engine_config": {"mem_fraction_static": 0.3},
        "sglang_mem_fraction_static": 0.5,
        "rollout_num_gpus_per_engine": draw(st.sampled_from([1, 2, 4])),
        "resource": {"actor": [1, actor], "rollout": [1, genrm if shared and not apart else rollout]},
        "colocate": not apart,
        "fully_async": apart,
    }
    return flags(given), parse_cluster(f"{nodes}x{each}xH200")


@given(requests())
def test_a_plan_is_inside_its_cluster_and_engines_are_whole_on_nodes(request: tuple[PlacementFlags, Cluster]) -> None:
    wanted, cluster = request
    try:
        plan = place(wanted, cluster)
    except InputError:
        return
    gpus = sum("GPU" in bundle for bundle in plan.bundles)
    assert gpus <= cluster.size
    for claim in plan.claims.values():
        assert all(0 <= gpu < gpus for gpu in claim.gpus)
        assert len(set(claim.gpus)) == len(claim.gpus)
        for engine in claim.engines:
            nodes = {cluster.node_of(gpu) for gpu in engine}
            assert len(nodes) == 1 or len(engine) == sum(cluster.gpus[node] for node in nodes)
    _nobody_overlaps(plan)


def _nobody_overlaps(plan: PlacementPlan) -> None:
    for gpu, bundle in enumerate(plan.bundles):
        tenants = plan.on(gpu)
        engines = [claim for claim in tenants if claim.kind in (Kind.ROLLOUT, Kind.JUDGE)]
        if plan.mode in (Mode.SPLIT, Mode.FULLY_ASYNC):
            assert len(engines) <= 1
        if plan.mode == Mode.FULLY_ASYNC:
            assert len(tenants) <= 1
        if "GPU" in bundle:
            assert sum(claim.ray_share for claim in tenants) <= 1


@pytest.mark.parametrize("given", [scripts.COLOCATED, scripts.CO_RESIDENT, scripts.DUAL, scripts.ASYNC])
def test_a_plan_goes_to_disk_and_comes_back_equal(given: dict[str, Any]) -> None:
    plan = place(flags(given), parse_cluster("1x8xH200"))
    assert load_plan(json.loads(json.dumps(dump_plan(plan)))) == plan


def test_inline_modes_judge_while_they_generate_and_sleep_before_training() -> None:
    plan = place(flags(scripts.DUAL), parse_cluster("1x8xH200"))
    kinds = [phase.kind for phase in plan.phases]
    assert kinds == [PhaseKind.GENERATE, PhaseKind.SLEEP, PhaseKind.TRAIN, PhaseKind.SYNC, PhaseKind.WAKE]
    generate, sleep, train, sync, wake = plan.phases
    assert generate.awake == wake.awake == ("rollout", "quality", "safety")
    assert sleep.awake == ()
    assert train.awake == ("actor",)
    assert (sync.awake, sync.weights_only) == ((), ("actor", "rollout"))


def test_deferred_judges_are_never_awake_with_the_rollout() -> None:
    plan = place(flags(scripts.DEFER_16), parse_cluster("2x8xH200"))
    assert [phase.kind for phase in plan.phases] == [
        PhaseKind.GENERATE,
        PhaseKind.SLEEP,
        PhaseKind.JUDGE,
        PhaseKind.SLEEP,
        PhaseKind.TRAIN,
        PhaseKind.SYNC,
        PhaseKind.WAKE,
    ]
    assert all(not {"rollout", "__default__"} <= set(phase.awake) for phase in plan.phases)


def test_everybody_is_awake_in_the_asynchronous_mode() -> None:
    plan = place(flags(scripts.ASYNC), parse_cluster("1x8xH200"))
    assert all(phase.awake == tuple(plan.claims) for phase in plan.phases)
    assert all(claim.ray_share == 1.0 for claim in plan.claims.values())


def test_three_tenants_of_a_bundle_can_all_be_scheduled() -> None:
    plan = place(flags(scripts.CO_RESIDENT), parse_cluster("1x8xH200"))
    assert [claim.ray_share for claim in plan.claims.values()] == [0.33, 0.33, 0.33]
