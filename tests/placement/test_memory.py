from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.placement import GIB, Cluster, Memory, Training, make_job, parse_cluster, place, plan, read_shape
from assay.placement.memory import CONTEXT, GRAPHS, estimate_memory

from . import configs, scripts
from .scripts import flags

EIGHT = parse_cluster("1x8xH200")
P = 4_022_468_096
J = 30_532_122_624


def memory(given: dict[str, Any], cluster: Cluster = EIGHT, training: Training | None = None) -> Memory:
    wanted = flags(given)
    judge = read_shape(configs.QWEN3_30B_A3B, "judge")
    job = make_job(
        wanted, read_shape(configs.QWEN3_4B, "policy"), dict.fromkeys(wanted.specs(), judge), training=training
    )
    return estimate_memory(place(wanted, cluster), cluster, job)


def parts(found: Memory, where: str, phase: str) -> dict[str, int]:
    (row,) = (row for row in found.cards if row.where == where and row.phase.endswith(phase))
    return row.parts


def test_full_training_takes_sixteen_bytes_a_parameter_over_all_ranks() -> None:
    """Worked by hand for Qwen3-4B on 8 GPUs."""
    train = parts(memory(scripts.COLOCATED), "GPU 0–3", "train")
    assert train["weights"] == 4 * P // 8
    assert train["gradients"] == 4 * P // 8
    assert train["optimizer"] == 8 * P // 8
    layer = (P - 2 * 151_936 * 2560) // 36
    assert train["gathered"] == 2 * (2 * layer + 151_936 * 2560)
    # 8192 tokens: inputs of 36 layers, the inside of one (6 h + 2 q + 2 kv + 3 i), two 32-bit logits of the vocabulary.
    inside = 6 * 2560 + 2 * 4096 + 2 * 1024 + 3 * 9728
    assert train["activations"] == 8192 * (2 * (36 * 2560 + inside) + 8 * 151_936)
    assert train["context"] == 2 * CONTEXT, "the actor, and the rollout that sleeps beside it"


def test_adapters_freeze_the_weights() -> None:
    """Rank 16: of every layer q, k, v, o and the three maps of the MLP, 16 x (in + out) each."""
    train = parts(memory(scripts.COLOCATED, training=Training(lora_rank=16)), "GPU 0–3", "train")
    maps = (2560 + 4096) + 2 * (2560 + 1024) + (4096 + 2560) + 3 * (2560 + 9728)
    adapters = 16 * 36 * maps
    assert train["weights"] == (2 * P + 4 * adapters) // 8
    assert train["optimizer"] == 8 * adapters // 8


def test_an_engine_takes_its_share_of_the_card() -> None:
    found = memory(scripts.CO_RESIDENT)
    both = parts(found, "GPU 0–7", "generate")
    card = 139 * GIB
    assert both["rollout weights"] == 2 * P
    assert both["rollout weights"] + both["rollout cache"] == int(0.6 * card)
    assert both["__default__ weights"] == 2 * J // 8
    assert both["__default__ weights"] + both["__default__ cache"] == int(0.3 * card)
    assert both["graphs"] == 2 * GRAPHS
    assert found.kv_tokens["rollout"] == (int(0.6 * card) - 2 * P) // 147_456
    assert found.refusals == ()


def test_sleepers_leave_their_contexts_and_their_backups() -> None:
    found = memory(scripts.DUAL)
    sync = parts(found, "GPU 4–5", "sync")
    assert sync == {"context": 2 * CONTEXT, "weights": 2 * P // 8}
    (host,) = found.hosts
    assert host.parts == {"actor": 12 * P, "quality": 2 * J, "safety": 2 * J}


def test_nobody_sleeps_in_the_asynchronous_mode() -> None:
    found = memory(scripts.ASYNC)
    assert found.hosts == ()
    assert parts(found, "GPU 0–1", "generate")["optimizer"] == 8 * P // 2


def test_deferred_engines_are_never_on_a_card_together() -> None:
    found = memory(scripts.DEFER_16, parse_cluster("2x8xH200"))
    assert "__default__ cache" not in parts(found, "GPU 0–15", "1 generate")
    assert "rollout cache" not in parts(found, "GPU 0–15", "judge")


def test_a_judge_that_does_not_fit_its_share_is_refused_with_the_share_that_would_do() -> None:
    given = scripts.CO_RESIDENT | {"genrm_engine_config": {"mem_fraction_static": 0.05}}
    (refusal,) = memory(given).refusals
    assert "'__default__': weights (7.1 GiB a card)" in refusal
    assert "its share of the card is 6.9 GiB; give it a share of at least 0.06" in refusal


def test_a_trainer_that_does_not_fit_is_refused_with_its_parts() -> None:
    given = flags({"resource": {"actor": [1, 1], "rollout": [1, 1]}, "colocate": True})
    job = make_job(given, read_shape(configs.LLAMA31_8B, "policy"), {})
    with pytest.raises(InputError, match=r"GPU 0, 3 train: .* of 79\.0 GiB .*optimizer 59\.8"):
        plan(given, parse_cluster("1x1xH100"), job)
    adapters = make_job(given, read_shape(configs.LLAMA31_8B, "policy"), {}, training=Training(lora_rank=16))
    assert plan(given, parse_cluster("1x1xH100"), adapters).memory is not None


def test_activations_that_do_not_fit_only_warn() -> None:
    found = memory(scripts.COLOCATED, training=Training(micro_batch_tokens=200_000))
    assert found.refusals == ()
    assert any("lower micro_batch_tokens" in warning for warning in found.warnings)


def test_backups_must_fit_the_host_where_its_memory_is_known() -> None:
    found = memory(scripts.COLOCATED, parse_cluster("1x8xH200", host_memory_gib=64))
    (refusal,) = found.refusals
    assert refusal.startswith("host 0: backups take 101.8 of 64.0 GiB")


def test_a_figure_for_a_judge_that_there_is_none_of_is_refused() -> None:
    policy = read_shape(configs.QWEN3_4B, "policy")
    with pytest.raises(InputError, match="no judge has the route key 'quailty'; configured: quality, safety"):
        make_job(flags(scripts.DUAL), policy, {"quailty": policy})
