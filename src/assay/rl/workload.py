"""What a run's settings tell the planner: the work of a step, and how the policy is trained. Pure.

Owns: which setting says which figure. Does not own: the figures that no setting says (mean lengths, what judges read
and write, measured speeds), nor what is made of them (``placement``).
"""

from __future__ import annotations

from assay.placement import JudgeLoad, Training, Workload

from .config import TrainConfig

_MEAN = Workload().response_tokens


def planned_workload(config: TrainConfig) -> Workload:
    """Prompts, samples, the length limit and the votes of a step. The mean response stays the planner's own guess."""
    plan = None if config.reward_voting is None else config.reward_voting.plan()
    return Workload(
        prompts=config.over_sampling_batch_size or config.rollout_batch_size,
        samples=config.n_samples_per_prompt,
        response_tokens=min(_MEAN, config.rollout_max_response_len),
        response_max=config.rollout_max_response_len,
        judge=JudgeLoad(calls=1 if plan is None else plan.k),
    )


def planned_training(config: TrainConfig) -> Training:
    """Adapters, dtype, micro-batches, and which passes the algorithm needs beside the update."""
    samples = config.rollout_batch_size * config.n_samples_per_prompt
    several = config.global_batch_size is not None and config.global_batch_size < samples
    return Training(
        dtype="fp32" if config.dtype in ("float32", "float64") else "bf16",
        lora_rank=config.lora_rank or None,
        checkpointing=config.gradient_checkpointing,
        micro_batch_tokens=config.max_tokens_per_micro_batch,
        reference=config.use_kl_loss or config.kl_coef > 0,
        # The first update of a batch takes the log-probs of its own forward pass.
        old_logprobs=several,
    )
