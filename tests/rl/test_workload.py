"""What the settings of a run say to the planner."""

from __future__ import annotations

from typing import Any

from assay.placement import Training, Workload
from assay.rl.config import TrainConfig
from assay.rl.workload import planned_training, planned_workload


def config(**said: Any) -> TrainConfig:
    return TrainConfig(prompt_data="q.jsonl", rm_type="math", rollout_batch_size=4, n_samples_per_prompt=6, **said)


def test_the_work_of_a_step() -> None:
    plain = planned_workload(config(rollout_max_response_len=300))
    assert plain == Workload(prompts=4, samples=6, response_tokens=300, response_max=300)
    voted = planned_workload(config(reward_voting={"k": 8}, over_sampling_batch_size=9))
    assert (voted.prompts, voted.judge.calls, voted.response_tokens) == (9, 8, 1024)


def test_how_the_policy_is_trained() -> None:
    plain = Training(checkpointing=False, micro_batch_tokens=4096, old_logprobs=False)
    assert planned_training(config()) == plain
    assert planned_training(config(global_batch_size=24)) == plain, "one update reads no log-probs before"
    assert planned_training(config(global_batch_size=12)).old_logprobs
    with_kl = config(use_kl_loss=True, lora_rank=16, dtype="float32", gradient_checkpointing=True)
    assert planned_training(with_kl) == Training(
        dtype="fp32", lora_rank=16, checkpointing=True, micro_batch_tokens=4096, reference=True, old_logprobs=False
    )


def test_a_kl_without_weight_is_measured_as_in_the_published_scripts() -> None:
    algorithm = config(use_kl_loss=True, kl_loss_coef=0.0)
    assert planned_training(algorithm).reference
