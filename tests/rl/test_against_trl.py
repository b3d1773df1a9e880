"""Advantages, loss, gradient, KL and metrics against TRL's trainers: every loss type x padding x mask it has too.

TRL's deviation is the sample one with 1e-4 added, so ours is asked for the same. Its ``bnpo`` and ``dapo`` are our
``token_mean`` (they differ once a batch is cut; ours is always the whole batch's), ``luspo`` our ``sequence_sum``.
TRL scores a failed judgment with an advantage of 0 and counts its sample in the loss; ours leaves it out, so that for
such batches TRL is given the valid samples alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("trl", reason="compares with TRL, which is not installed (pip install trl)")

from assay.models.logprobs import token_logprobs
from assay.models.losses.aggregation import Aggregation, token_weights
from assay.models.losses.config import PolicyLossConfig
from assay.models.losses.policy import LossParts, policy_loss
from assay.rl.advantages.grpo import grpo
from assay.rl.advantages.kl_reward import kl_penalised
from assay.rl.advantages.rloo import rloo

from . import trl_stage as stage

# TRL asks transformers by names that are on their way out.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")]

AGGREGATIONS: dict[str, Aggregation] = {
    "grpo": "sequence_mean",
    "bnpo": "token_mean",
    "dapo": "token_mean",
    "dr_grpo": "constant",
    "luspo": "sequence_sum",
}
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def grpo_trainer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from trl import GRPOConfig, GRPOTrainer

    return stage.make_trainer(GRPOTrainer, GRPOConfig, tmp_path_factory.mktemp("grpo"))


@pytest.fixture(scope="module")
def rloo_trainer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from trl import RLOOConfig, RLOOTrainer

    return stage.make_trainer(RLOOTrainer, RLOOConfig, tmp_path_factory.mktemp("rloo"))


@dataclass(frozen=True, kw_only=True)
class Packed:
    """A padded batch of TRL's in our layout: one entry per answer token that is not padding."""

    sequence: Tensor
    trained: Tensor
    here: Tensor
    """Where the tokens stand in the padded batch (bool)."""

    def flat(self, padded: Tensor) -> Tensor:
        return padded[self.here]


def pack(batch: dict[str, Tensor]) -> Packed:
    here = batch["completion_mask"].bool()
    rows = torch.arange(len(here)).unsqueeze(1).expand_as(here)
    trained = batch.get("tool_mask", here)[here].bool()
    return Packed(sequence=rows[here], trained=trained, here=here)


def read(model: Any, batch: dict[str, Tensor], packed: Packed) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies of the answer tokens, ours, from the model's plain logits."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    logits = model(input_ids=ids, attention_mask=mask).logits[:, -packed.here.shape[1] - 1 : -1]
    found = token_logprobs(
        logits[packed.here], packed.flat(batch["completion_ids"]), temperature=stage.TEMPERATURE, chunk=5
    )
    return found.logprobs, found.entropy


def ours(
    trainer: Any, batch: dict[str, Tensor], advantages: list[float], mode: Aggregation, config: PolicyLossConfig
) -> LossParts:
    """Our loss from the weights that TRL's loss was computed with; log-probs of all four kinds are computed anew."""
    packed = pack(batch)
    with torch.no_grad():
        reference, _ = read(trainer.ref_model, batch, packed)
    logprobs, entropy = read(trainer.model, batch, packed)
    old = packed.flat(batch["old_per_token_logps"])
    engine = batch.get("sampling_per_token_logps")
    return policy_loss(
        logprobs,
        old,
        torch.tensor(advantages)[packed.sequence],
        token_weights(mode, packed.trained, packed.sequence, max_length=stage.LIMIT),
        packed.sequence,
        reference=reference,
        rollout=None if engine is None else packed.flat(engine),
        entropy=entropy,
        config=config,
    )


def sampled(play: stage.Scene, *, engine: bool) -> tuple[Any, ...]:
    logprobs = play.engine if engine else None
    return play.prompts, play.answers, play.trained, play.answers, logprobs, {}, None, None


def by_group(play: stage.Scene) -> list[list[float | None]]:
    return [play.rewards[start : start + stage.GROUP] for start in range(0, stage.BATCH, stage.GROUP)]


def our_advantages(play: stage.Scene) -> list[float]:
    groups = [grpo(group, std="sample", eps=1e-4) for group in by_group(play)]
    return [0.0 if advantage is None else advantage for group in groups for advantage in group.advantages]


def check(trainer: Any, theirs: tuple[Tensor, list[Tensor]], mine: LossParts) -> None:
    loss, slopes = theirs
    torch.testing.assert_close(mine.loss.detach(), loss, **TOLERANCE)
    for found, wanted in zip(stage.gradient(mine.loss, trainer.model), slopes, strict=True):
        torch.testing.assert_close(found, wanted, **TOLERANCE)


def settings(trainer: Any, loss_type: str, level: str, *, beta: float, delta: float | None, use_tis: bool) -> None:
    trainer.loss_type, trainer.importance_sampling_level, trainer.beta = loss_type, level, beta
    trainer.args.delta, trainer.args.use_bias_correction_kl = delta, False
    trainer.epsilon_low, trainer.epsilon_high = 0.1, 0.15
    trainer.use_vllm = trainer.vllm_importance_sampling_correction = use_tis
    trainer.vllm_importance_sampling_mode = "token_truncate"
    trainer.vllm_importance_sampling_clip_max, trainer.vllm_importance_sampling_clip_min = 1.2, None
    trainer._entropy_bonus_enabled, trainer.entropy_coef = False, 0.0


@pytest.mark.parametrize("masked", [False, True], ids=["padding", "padding_and_mask"])
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", list(AGGREGATIONS))
@pytest.mark.parametrize(
    ("beta", "unbiased", "delta", "use_tis"),
    [
        (0.0, False, None, False),
        (stage.BETA, False, None, False),
        (stage.BETA, True, None, False),
        (0.0, False, 1.2, False),
        (0.0, False, None, True),
        (stage.BETA, True, 1.2, True),
    ],
    ids=["clip", "kl", "unbiased_kl", "dual_clip", "tis", "all"],
)
def test_loss_gradient_and_metrics(grpo_trainer, loss_type, level, masked, beta, unbiased, delta, use_tis) -> None:
    play = stage.scene(masked=masked)
    settings(grpo_trainer, loss_type, level, beta=beta, delta=delta, use_tis=use_tis)
    grpo_trainer.args.use_bias_correction_kl = unbiased
    batch, *theirs = stage.run_trl(grpo_trainer, play, sampled(play, engine=use_tis))
    advantages = our_advantages(play)
    torch.testing.assert_close(torch.tensor(advantages), batch["advantages"], **TOLERANCE)

    config = PolicyLossConfig(
        level=level,
        eps_clip=0.1,
        eps_clip_high=0.15,
        eps_clip_c=delta,
        use_kl_loss=beta > 0,
        kl_loss_coef=beta,
        kl_loss_type="k3",
        use_unbiased_kl=unbiased,
        use_tis=use_tis,
        tis_clip=1.2,
    )
    mine = ours(grpo_trainer, batch, advantages, AGGREGATIONS[loss_type], config)
    check(grpo_trainer, tuple(theirs), mine)

    logged, shown = grpo_trainer._metrics["train"], mine.metrics.means()
    assert shown["entropy"] == pytest.approx(logged["entropy"][0], abs=1e-5)
    if beta:
        assert shown["kl"] == pytest.approx(logged["kl"][0], abs=1e-5)
    if level == "token" and delta is None:
        assert shown["clip_fraction"] == pytest.approx(logged["clip_ratio/region_mean"][0], abs=1e-6)
        assert 0.1 < shown["clip_fraction"] < 0.9, "the case must be one where the clip matters"
    if use_tis:
        assert 0 < shown["tis_clip_fraction"] < 1


@pytest.mark.parametrize("masked", [False, True], ids=["padding", "padding_and_mask"])
@pytest.mark.parametrize("loss_type", ["bnpo", "dapo"])
def test_the_entropy_bonus(grpo_trainer, loss_type, masked) -> None:
    """TRL takes the mean over tokens whatever the loss type, so the two agree where the loss is one as well."""
    play = stage.scene(masked=masked)
    settings(grpo_trainer, loss_type, "token", beta=0.0, delta=None, use_tis=False)
    grpo_trainer._entropy_bonus_enabled, grpo_trainer.entropy_coef = True, 0.05
    grpo_trainer.use_adaptive_entropy = False
    batch, *theirs = stage.run_trl(grpo_trainer, play, sampled(play, engine=False))
    config = PolicyLossConfig(eps_clip=0.1, eps_clip_high=0.15, entropy_coef=0.05)
    check(grpo_trainer, tuple(theirs), ours(grpo_trainer, batch, our_advantages(play), "token_mean", config))


def test_failed_judgments_have_the_baseline_that_trl_gives_them(grpo_trainer) -> None:
    play = stage.scene(masked=False, failed=True)
    settings(grpo_trainer, "grpo", "token", beta=0.0, delta=None, use_tis=False)
    batch, *_ = stage.run_trl(grpo_trainer, play, sampled(play, engine=False))
    torch.testing.assert_close(torch.tensor(our_advantages(play)), batch["advantages"], **TOLERANCE)


@pytest.mark.parametrize("loss_type", list(AGGREGATIONS))
def test_failed_judgments_leave_the_loss_that_trl_has_for_the_valid_samples(grpo_trainer, loss_type) -> None:
    play = stage.scene(masked=False, failed=True)
    settings(grpo_trainer, loss_type, "token", beta=stage.BETA, delta=None, use_tis=False)
    batch, *_ = stage.run_trl(grpo_trainer, play, sampled(play, engine=False))
    valid = torch.tensor([reward is not None for reward in play.rewards])
    alone = {name: values[valid] if values.dim() else values for name, values in batch.items()}
    alone["num_items_in_batch"] = alone["completion_mask"].sum()
    loss = grpo_trainer._compute_loss(grpo_trainer.model, alone)
    theirs = loss.detach(), stage.gradient(loss, grpo_trainer.model)

    config = PolicyLossConfig(
        eps_clip=0.1, eps_clip_high=0.15, use_kl_loss=True, kl_loss_coef=stage.BETA, kl_loss_type="k3"
    )
    everyone = {**batch, "tool_mask": batch["completion_mask"] * valid.unsqueeze(1)}
    check(grpo_trainer, theirs, ours(grpo_trainer, everyone, our_advantages(play), AGGREGATIONS[loss_type], config))


@pytest.mark.parametrize("beta", [0.0, stage.BETA], ids=["reward_alone", "kl_in_reward"])
def test_rloo_with_the_kl_in_the_reward(rloo_trainer, beta) -> None:
    """On policy, where TRL's ratio of whole answers and ours of tokens are both 1, the gradients are one."""
    play = replace(stage.scene(masked=False), trained=None)
    rloo_trainer.beta, rloo_trainer.epsilon_low, rloo_trainer.epsilon_high = beta, 0.1, 0.15
    rloo_trainer.normalize_advantages = False
    batch, *_ = stage.run_trl(rloo_trainer, play, (play.prompts, play.answers, play.answers))

    packed = pack(batch)
    stage.reset(rloo_trainer.model, rloo_trainer.ref_model, seed=1)
    with torch.no_grad():
        old, _ = read(rloo_trainer.model, batch, packed)
        reference, _ = read(rloo_trainer.ref_model, batch, packed)
    kl = [(old - reference)[packed.sequence == sample].tolist() for sample in range(stage.BATCH)]
    advantages: list[float] = []
    for start, group in zip(range(0, stage.BATCH, stage.GROUP), by_group(play), strict=True):
        found = rloo(kl_penalised(group, kl[start : start + stage.GROUP], beta))
        advantages += [advantage for advantage in found.advantages if advantage is not None]
    torch.testing.assert_close(torch.tensor(advantages), batch["advantages"], **TOLERANCE)

    loss = rloo_trainer._compute_loss(rloo_trainer.model, batch)
    theirs = loss.detach(), stage.gradient(loss, rloo_trainer.model)
    logprobs, _ = read(rloo_trainer.model, batch, packed)
    weights = token_weights("sequence_sum", torch.ones_like(logprobs), packed.sequence)
    mine = policy_loss(
        logprobs,
        old,
        torch.tensor(advantages)[packed.sequence],
        weights,
        packed.sequence,
        config=PolicyLossConfig(eps_clip=0.1, eps_clip_high=0.15),
    )
    for found, wanted in zip(stage.gradient(mine.loss, rloo_trainer.model), theirs[1], strict=True):
        torch.testing.assert_close(found, wanted, **TOLERANCE)


def test_the_model_is_the_one_that_was_saved(grpo_trainer) -> None:
    assert Path(grpo_trainer.model.config._name_or_path).name == "model"
