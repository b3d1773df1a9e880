"""The policy loss: clipped surrogate, corrected for the rollout engine, with KL and entropy terms; one weighted sum.

loss = sum_t w_t * (tis_t * surrogate_t + kl_coef * kl_t - entropy_coef * entropy_t)

With ``use_unbiased_kl``, kl_t is multiplied by the importance ratio.

Exact under any cut into micro-batches and ranks (see ``aggregation``): add the losses, or their gradients, of the
parts. A rank whose framework averages gradients multiplies by the number of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from assay.core.errors import InputError

from .clip import clipped_surrogate
from .config import PolicyLossConfig
from .kl import kl_estimate
from .metrics import LossMetrics, measure
from .ratio import importance_ratio
from .segments import kept
from .tis import TisWeights, tis_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class LossParts:
    """The loss of one part of the batch, a scalar to call ``backward`` on, and what to log of it."""

    loss: Tensor
    metrics: LossMetrics


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    sequence: Tensor,
    *,
    reference: Tensor | None = None,
    rollout: Tensor | None = None,
    entropy: Tensor | None = None,
    config: PolicyLossConfig,
) -> LossParts:
    """The loss of a packed part of the batch; every tensor is ``[T]`` over its response tokens.

    ``logprobs``: of the policy being trained, with gradient; ``old_logprobs``: of the trainer before the update (for
    one update per batch, ``logprobs.detach()``); ``weights``: of ``token_weights``; ``sequence``: each token's sample.
    ``reference``, ``rollout``: log-probs of the reference model and of the engine that sampled. ``entropy``: nats.
    Raises InputError where the config needs one of these and it is absent.
    """
    live = weights != 0
    logprobs, old, advantages = kept(logprobs, live), kept(old_logprobs, live).detach(), kept(advantages, live)
    reference = None if reference is None else kept(reference, live)
    rollout = None if rollout is None else kept(rollout, live)
    entropy = None if entropy is None else kept(entropy, live)

    ratio = importance_ratio(logprobs - old, live, sequence, config.level)
    surrogate = clipped_surrogate(ratio, advantages, low=config.eps_clip, high=config.high, dual=config.eps_clip_c)
    tis = _tis(old, rollout, config)
    policy = surrogate.loss if tis is None else surrogate.loss * tis.weights
    kl = None if reference is None else kl_estimate(logprobs, reference, config.kl_loss_type)
    if kl is not None and config.use_unbiased_kl:
        kl = kl * ratio

    total = policy
    if config.kl_coef != 0:
        total = total + config.kl_coef * _needed(kl, "use_kl_loss", "the reference model's log-probs")
    if config.entropy_coef != 0:
        total = total - config.entropy_coef * _needed(entropy, "entropy_coef", "the entropy of each token")
    metrics = measure(
        live,
        policy=(weights * policy).sum(),
        log_ratio=logprobs - old,
        ratio=ratio,
        surrogate=surrogate,
        kl=kl,
        entropy=entropy,
        tis=tis,
        rollout_gap=None if rollout is None else old - rollout,
    )
    return LossParts(loss=(weights * total).sum(), metrics=metrics)


def _tis(old: Tensor, rollout: Tensor | None, config: PolicyLossConfig) -> TisWeights | None:
    if not config.use_tis:
        return None
    sampled = _needed(rollout, "use_tis", "the rollout engine's log-probs")
    return tis_weights(old, sampled, high=config.tis_clip, low=config.tis_clip_low)


def _needed(values: Tensor | None, option: str, what: str) -> Tensor:
    if values is None:
        raise InputError(f"{option} needs {what}, and the batch has none: compute them, or turn {option} off")
    return values
