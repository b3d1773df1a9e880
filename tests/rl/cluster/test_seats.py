"""Who sits where: logical GPUs are those sorted by (node, device), whatever Ray made of the bundles."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import StartError
from assay.engines.ray.placement import Node, Spot
from assay.placement import PlacementFlags, PlacementPlan, parse_cluster, place
from assay.rl.cluster.seats import actors, arranged, check_room, described, without_room

BUNDLE = {"CPU": 1.0, "GPU": 1.0}


def plan(cluster: str = "1x4xH200", **flags: Any) -> PlacementPlan:
    settings: dict[str, Any] = {
        "colocate": True,
        "resource": {"actor": (1, 4), "rollout": (1, 2), "genrm": (1, 2)},
        "genrm_instances": {"judge": {"model_path": "j", "num_gpus": 2, "num_gpus_per_engine": 2}},
    }
    return place(PlacementFlags(**settings | flags), parse_cluster(cluster))


def spots(*where: tuple[str, str]) -> list[Spot]:
    return [Spot(bundle=index, node=node, device=device) for index, (node, device) in enumerate(where)]


def test_gpus_are_counted_by_node_and_device_and_not_as_ray_numbers_bundles() -> None:
    seats = arranged(plan(), spots(("10.0.0.10", "0"), ("10.0.0.9", "1"), ("10.0.0.10", "1"), ("10.0.0.9", "0")))
    assert [seat.place.bundle for seat in seats["actor"]] == [3, 1, 0, 2]
    assert [(seat.gpus, seat.place.node, seat.place.devices) for seat in seats["rollout"]] == [
        ((0,), "10.0.0.9", ("0",)),
        ((1,), "10.0.0.9", ("1",)),
    ]
    (judge,) = seats["judge"]
    assert (judge.gpus, judge.place.bundle, judge.place.devices) == ((2, 3), 0, ("0", "1"))
    # Rank and engine share a card, so each asks for half of it.
    assert {seat.share for own in seats.values() for seat in own} == {0.5}


def test_an_engine_whose_gpus_are_on_two_nodes_is_refused() -> None:
    with pytest.raises(StartError, match=r"'judge'.*GPU 2 on a, GPU 3 on b"):
        arranged(plan(), spots(("a", "0"), ("a", "1"), ("a", "2"), ("b", "0")))


def test_roles_that_run_in_the_ranks_have_no_actors() -> None:
    resource = {"actor": (1, 4), "rollout": (1, 2), "genrm": (1, 2), "reference": (1, 4), "advantages": (1, 0)}
    assert [claim.name for claim in actors(plan(resource=resource))] == ["actor", "rollout", "judge"]
    apart = plan(
        colocate=False,
        fully_async=True,
        resource={"actor": (1, 1), "rollout": (1, 1), "genrm": (1, 1), "reference": (1, 1)},
        genrm_instances={"judge": {"model_path": "j", "num_gpus": 1}},
    )
    assert [claim.name for claim in actors(apart)] == ["actor", "rollout", "judge", "reference"]


def test_a_judge_without_a_gpu_sits_in_its_cpu_bundle() -> None:
    own = plan(
        colocate=False,
        fully_async=True,
        resource={"actor": (1, 1), "rollout": (1, 1)},
        genrm_instances={"judge": {"model_path": "j", "num_gpus": 0}},
    )
    found = [*spots(("a", "0"), ("a", "1")), Spot(bundle=2, node="b", device=None)]
    (judge,) = arranged(own, found)["judge"]
    assert (judge.place.bundle, judge.place.node, judge.place.devices, judge.gpus) == (2, "b", (), ())


def test_the_first_bundle_without_room_is_named() -> None:
    assert without_room([BUNDLE] * 3, [{"GPU": 2, "CPU": 8}, {"GPU": 1, "CPU": 8}]) is None
    assert without_room([BUNDLE] * 3, [{"GPU": 2, "CPU": 8}]) == 2
    assert without_room([BUNDLE] * 3, [{"GPU": 4, "CPU": 1}]) == 1
    assert described(plan(), 3) == "GPU 3 (actor, judge)"


def test_a_plan_for_more_than_the_cluster_has_is_refused_with_the_numbers() -> None:
    check_room(plan(), [Node(name="a", gpus=2, cpus=4), Node(name="b", gpus=2, cpus=4)])
    with pytest.raises(StartError, match=r"GPU 2 \(actor, judge\).*a: 2 GPUs and 4 CPUs"):
        check_room(plan(), [Node(name="a", gpus=2, cpus=4)])
