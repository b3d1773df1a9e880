"""Bundles, prefix sums and refusals, without Ray. Numbers by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError, StartError
from assay.engines.ray.placement import Demand, Node, Place, Spot, make_plan, natural, place


def demand(key: str, engines: int, gpus: int) -> Demand:
    return Demand(route_key=key, engines=engines, gpus=gpus)


def node(name: str, gpus: int, cpus: int = 64) -> Node:
    return Node(name=name, gpus=gpus, cpus=cpus)


EIGHT = [node("10.0.0.1", 8)]


def test_one_bundle_a_gpu_then_one_a_cpu_engine() -> None:
    plan = make_plan([demand("quality", 2, 2), demand("rules", 3, 0), demand("safety", 1, 1)], EIGHT)
    assert plan.bundles == ({"CPU": 1, "GPU": 1},) * 5 + ({"CPU": 1},) * 3


def test_instances_take_gpus_by_prefix_sum_in_declaration_order() -> None:
    plan = make_plan([demand("quality", 2, 2), demand("rules", 2, 0), demand("safety", 1, 2)], EIGHT)
    assert list(plan.shares()) == [
        ("quality", (0, 1)),
        ("quality", (2, 3)),
        ("rules", (6,)),
        ("rules", (7,)),
        ("safety", (4, 5)),
    ]


def test_logical_gpus_are_sorted_by_node_and_device_whatever_order_ray_gave_the_bundles() -> None:
    plan = make_plan([demand("quality", 1, 2), demand("safety", 2, 1)], [node("10.0.0.9", 2), node("10.0.0.10", 2)])
    spots = [
        Spot(bundle=0, node="10.0.0.10", device="1"),
        Spot(bundle=1, node="10.0.0.9", device="3"),
        Spot(bundle=2, node="10.0.0.10", device="0"),
        Spot(bundle=3, node="10.0.0.9", device="0"),
    ]
    assert place(plan, spots) == {
        "quality": (Place(bundle=3, node="10.0.0.9", devices=("0", "3")),),
        "safety": (
            Place(bundle=2, node="10.0.0.10", devices=("0",)),
            Place(bundle=0, node="10.0.0.10", devices=("1",)),
        ),
    }


def test_an_engine_without_a_gpu_has_a_place_and_no_device() -> None:
    plan = make_plan([demand("rules", 1, 0)], [node("a", 0)])
    assert place(plan, [Spot(bundle=0, node="a", device=None)]) == {"rules": (Place(bundle=0, node="a", devices=()),)}


def test_too_few_gpus_are_refused_with_all_the_numbers() -> None:
    with pytest.raises(InputError) as caught:
        make_plan([demand("quality", 2, 4), demand("safety", 1, 2)], [node("a", 4), node("b", 4)])
    said = str(caught.value)
    assert "need 10 GPUs ('quality' 2 engines x 4 GPUs, 'safety' 1 engine x 2 GPUs)" in said
    assert "the cluster has 8 (a: 4, b: 4)" in said


def test_too_few_cpus_are_refused() -> None:
    with pytest.raises(InputError, match=r"need 3 CPUs .* has 2 \(a: 2\)"):
        make_plan([demand("rules", 3, 0)], [node("a", 0, cpus=2)])


def test_an_engine_that_would_cross_nodes_is_refused_before_and_after() -> None:
    with pytest.raises(InputError, match="GPUs 3 to 5 of one engine cross from one node to another at GPU 4"):
        make_plan([demand("quality", 2, 3)], [node("a", 4), node("b", 4)])
    plan = make_plan([demand("quality", 2, 2)], [node("a", 4), node("b", 4)])
    spots = [Spot(bundle=n, node="a" if n < 3 else "b", device=str(n)) for n in range(4)]
    with pytest.raises(StartError, match=r"'quality'.* GPU 2 on a, GPU 3 on b"):
        place(plan, spots)


def test_names_sort_by_their_numbers() -> None:
    assert sorted(["10.0.0.10", "10.0.0.9", "node-2", "node-11"], key=natural) == [
        "10.0.0.9",
        "10.0.0.10",
        "node-2",
        "node-11",
    ]


@given(
    sizes=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 1, 2])), min_size=1, max_size=5),
    shuffle=st.randoms(use_true_random=False),
)
def test_every_gpu_has_one_owner_and_every_engine_its_own_bundle(sizes: list[tuple[int, int]], shuffle: object) -> None:
    demands = [demand(str(number), engines, gpus) for number, (engines, gpus) in enumerate(sizes)]
    plan = make_plan(demands, [node("a", 64)])
    devices = [str(n) for n, bundle in enumerate(plan.bundles) if "GPU" in bundle]
    shuffle.shuffle(devices)  # type: ignore[attr-defined]
    spots = [
        Spot(bundle=n, node="a", device=devices[n] if n < len(devices) else None) for n in range(len(plan.bundles))
    ]
    places = place(plan, spots)
    taken = [device for share in places.values() for one in share for device in one.devices]
    assert taken == sorted(taken, key=int)
    assert len(taken) == len(devices)
    bundles = [one.bundle for share in places.values() for one in share]
    assert len(set(bundles)) == len(bundles)
    assert {key: len(share) for key, share in places.items()} == {one.route_key: one.engines for one in demands}
