"""What is refused, with its numbers, and what is legal though it looks odd."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from assay.core.config import explain
from assay.core.errors import InputError
from assay.placement import Mode, PlacementFlags, parse_cluster, place

from . import scripts
from .scripts import flags

EIGHT = parse_cluster("1x8xH200")
SIXTEEN = parse_cluster("2x8xH200")


def layout(actor: int, rollout: int, genrm: int, **more: Any) -> PlacementFlags:
    given = {
        "genrm_model_path": "judge",
        "resource": {"actor": [1, actor], "rollout": [1, rollout], "genrm": [1, genrm]},
        "colocate": True,
    }
    return flags(given, **more)


def refused(given: PlacementFlags, cluster: Any = EIGHT) -> str:
    with pytest.raises(InputError) as caught:
        place(given, cluster)
    return str(caught.value)


def invalid(**given: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        PlacementFlags.model_validate(given)
    return explain(caught.value)


@pytest.mark.parametrize(
    ("numbers", "nearest"),
    [
        ((8, 4, 2), "split with actor 8, rollout 4, genrm 4; split with actor 8, rollout 6, genrm 2"),
        ((8, 6, 6), "actor 8, rollout 6, genrm 2"),
        ((8, 8, 4), "actor 8, rollout 4, genrm 4"),
        ((4, 8, 8), "shared with actor 8, rollout 8, genrm 8"),
    ],
)
def test_counts_that_make_no_layout_are_refused_with_three_numbers_and_the_nearest(
    numbers: tuple[int, int, int], nearest: str
) -> None:
    message = refused(layout(*numbers))
    actor, rollout, genrm = numbers
    assert f"actor {actor}, rollout {rollout}, genrm {genrm} is no legal layout" in message
    assert f"({rollout} + {genrm} = {rollout + genrm}, not {actor})" in message
    assert nearest in message


def test_the_layouts_that_a_refusal_shows_are_legal() -> None:
    message = refused(layout(8, 5, 4, genrm_num_gpus_per_engine=4))
    shown = message.partition("Nearest legal: ")[2].split("; ")
    assert len(shown) == 3
    for one in shown:
        actor, rollout, genrm = (int(part.split()[-1]) for part in one.split(", "))
        fractions = {"sglang_mem_fraction_static": 0.6, "genrm_engine_config": {"mem_fraction_static": 0.3}}
        place(layout(actor, rollout, genrm, genrm_num_gpus_per_engine=4, **fractions), EIGHT)


def test_co_resident_needs_both_shares_of_the_card() -> None:
    message = refused(layout(8, 8, 8, genrm_engine_config={"mem_fraction_static": 0.3}))
    assert "--sglang-mem-fraction-static is required" in message
    message = refused(layout(8, 8, 8, sglang_mem_fraction_static=0.6))
    assert "mem_fraction_static in the engine configuration of '__default__'" in message


@pytest.mark.parametrize(("rollout", "judge"), [(0.6, 0.4), (0.8, 0.5)])
def test_shares_of_the_whole_card_are_refused(rollout: float, judge: float) -> None:
    given = layout(8, 8, 8, sglang_mem_fraction_static=rollout, genrm_engine_config={"mem_fraction_static": judge})
    assert f"rollout {rollout:g} + __default__ {judge:g} = {rollout + judge:g}" in refused(given)


@pytest.mark.parametrize(("judge", "warned"), [(0.3, False), (0.35, True)])
def test_shares_beyond_nine_tenths_warn(judge: float, warned: bool) -> None:
    given = layout(8, 8, 8, sglang_mem_fraction_static=0.6, genrm_engine_config={"mem_fraction_static": judge})
    assert any("more than 0.9" in warning for warning in place(given, EIGHT).warnings) == warned


def test_each_of_two_judges_shares_its_cards_with_the_rollout_alone() -> None:
    instance = {"model_path": "m", "num_gpus": 4, "num_gpus_per_engine": 4}
    given: dict[str, Any] = {
        "genrm_instances": {"quality": instance, "safety": instance},
        "genrm_engine_config": {"mem_fraction_static": 0.35},
        "sglang_mem_fraction_static": 0.5,
        "resource": {"actor": [1, 8], "rollout": [1, 8]},
        "colocate": True,
    }
    plan = place(flags(given), EIGHT)
    assert plan.mode == Mode.CO_RESIDENT
    assert plan.claims["safety"].gpus == (4, 5, 6, 7)
    assert plan.warnings == ()


def test_engines_must_fill_their_gpus() -> None:
    message = refused(layout(8, 6, 2, rollout_num_gpus_per_engine=4))
    assert "--rollout-num-gpus=6 does not divide by --rollout-num-gpus-per-engine=4" in message
    assert "1, 2, 3, 6" in message
    assert "num_gpus=2 does not divide by num_gpus_per_engine=4" in invalid(
        genrm_model_path="m", genrm_num_gpus=2, genrm_num_gpus_per_engine=4
    )


def test_an_engine_that_crosses_a_node_needs_whole_nodes() -> None:
    message = refused(layout(16, 10, 6, genrm_num_gpus_per_engine=2, rollout_num_gpus_per_engine=5), SIXTEEN)
    assert "'rollout': an engine on GPUs 5 to 9 crosses from one node to the next at GPU 8" in message
    whole = place(flags(scripts.DEFER_16), SIXTEEN)
    assert whole.claims["rollout"].engines == tuple((gpu,) for gpu in range(16))
    assert whole.claims["__default__"].engines == (tuple(range(16)),)


def test_nodes_of_different_sizes() -> None:
    mixed = parse_cluster("1x4xH100+1x8xH100")
    assert mixed.edges == (0, 4, 12)
    assert (mixed.node_of(3), mixed.node_of(4)) == (0, 1)
    plan = place(layout(12, 4, 8, genrm_num_gpus_per_engine=8), mixed)
    assert plan.claims["__default__"].engines == (tuple(range(4, 12)),)


def test_a_cluster_that_is_too_small() -> None:
    assert "split needs 16 GPUs" in refused(flags(scripts.SPLIT_16), EIGHT)
    assert "fully-async needs 8 GPUs" in refused(flags(scripts.ASYNC), parse_cluster("1x4xH200"))


def test_deferring_is_for_shared_gpus_and_a_dummy_reward() -> None:
    assert "--rm-type 'dapo-genrm'" in refused(flags(scripts.DEFER_16, rm_type="dapo-genrm"), SIXTEEN)
    assert "needs shared GPUs" in refused(layout(8, 4, 4, rm_type="dummy", defer_reward_to_post_process=True))
    assert "no place in --fully-async" in refused(flags(scripts.ASYNC, defer_reward_to_post_process=True))


def test_deferring_needs_no_hook_of_ones_own_and_no_fractions() -> None:
    given = layout(8, 8, 8, rm_type="dummy", defer_reward_to_post_process=True)
    plan = place(given, EIGHT)
    assert plan.mode == Mode.DEFER_SWAP
    assert not plan.inline_reward
    assert (plan.claims["rollout"].fraction, plan.claims["__default__"].fraction) == (0.85, 0.85)


def test_flags_that_disagree_with_the_resources_are_refused() -> None:
    resource = {"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}
    assert "--rollout-num-gpus 6 disagrees with --resource, which gives rollout 4" in invalid(
        resource=resource, rollout_num_gpus=6, genrm_model_path="m"
    )
    assert "genrm 4 GPUs and the judges' num_gpus are 2 (__default__) = 2" in invalid(
        resource=resource, genrm_num_gpus=2, genrm_model_path="m"
    )
    two = {key: {"model_path": "m", "num_gpus": 1} for key in ("quality", "safety")}
    assert "1 (quality) + 1 (safety) = 2" in invalid(resource=resource, genrm_instances=two)
    assert "no judge is configured" in invalid(resource=resource)


def test_what_cannot_be_said() -> None:
    assert "exclude each other" in invalid(colocate=True, fully_async=True)
    assert "there is no role 'critic'" in invalid(resource={"critic": [1, 8]})
    assert "name of a role" in invalid(genrm_instances={"rollout": {"model_path": "m", "num_gpus": 1}})
    assert "missing required key 'num_gpus'" in invalid(genrm_instances={"quality": {"model_path": "m"}})
    assert "'actor' is [1]: write [groups, GPUs of each]" in invalid(resource={"actor": [1]})
    assert "resource.actor" in invalid(resource={"actor": [1, -1]})


def test_what_must_be_said() -> None:
    assert "neither --colocate nor --fully-async" in refused(layout(8, 4, 4, colocate=False))
    assert "the actor needs GPUs and has none" in refused(PlacementFlags(colocate=True))
    given = flags({"resource": {"actor": [1, 8], "rollout": [1, 0]}, "colocate": True})
    assert "the rollout needs GPUs and has 0 GPUs" in refused(given)


def test_without_a_judge_the_rollout_has_all_gpus() -> None:
    plan = place(flags({"resource": {"actor": [1, 8], "rollout": [1, 8]}, "colocate": True, "rm_type": "math"}), EIGHT)
    assert plan.mode == Mode.SPLIT
    assert plan.judges == ()


def test_a_judge_on_the_cpu_takes_no_gpu() -> None:
    given = {"genrm_model_path": "m", "resource": {"actor": [1, 8], "rollout": [1, 8], "genrm": [1, 0]}}
    plan = place(flags(given, colocate=True), EIGHT)
    assert plan.claims["__default__"].gpus == ()
    assert plan.judges == ("__default__",)


def test_guests_of_the_actor_have_its_gpus_or_none() -> None:
    resource = {"actor": [1, 8], "rollout": [1, 8], "reference": [1, 2]}
    assert "reference has 2 GPUs" in refused(flags({"resource": resource, "colocate": True}))
    resource["reference"] = [1, 8]
    assert place(flags({"resource": resource, "colocate": True}), EIGHT).claims["reference"].gpus == tuple(range(8))


def test_staleness_is_of_the_asynchronous_mode() -> None:
    assert place(flags(scripts.ASYNC), EIGHT).max_staleness == 1
    assert place(flags(scripts.ASYNC, max_staleness=3), EIGHT).max_staleness == 3
    plan = place(layout(8, 4, 4, max_staleness=3), EIGHT)
    assert plan.max_staleness == 0
    assert any("--max-staleness 3 has no effect" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [("8xH200", "write nodes x GPUs x card"), ("1x8xTPU", "'TPU' is not known"), ("1x0xH200", "has no GPU"),
     ("1x8xH200+1x8xH100", "one kind only")],
)  # fmt: skip
def test_a_cluster_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_cluster(text)
