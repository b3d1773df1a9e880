"""The importance ratio of the trained policy to the one that the batch was sampled with, by token or by sample.

``token``: r_t = pi(t) / pi_old(t) (PPO, arXiv 1707.06347). ``sequence``: one ratio for all tokens of a sample, the
geometric mean of theirs, s = exp(mean_t ln r_t) (GSPO, arXiv 2507.18071), and its true gradient, which spreads over
the sample's tokens.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch import Tensor

from .segments import segment_mean

Level: TypeAlias = Literal["token", "sequence"]

LOG_RATIO_LIMIT = 20.0
"""Log ratios are held within this, where e^20 is still finite in every type: verl's limit, far outside any clip."""


def importance_ratio(log_ratio: Tensor, mask: Tensor, sequence: Tensor, level: Level) -> Tensor:
    """The ratio that each token is clipped by, ``[T]``, from ``log_ratio [T]`` = ln pi - ln pi_old."""
    if level == "sequence":
        log_ratio = segment_mean(log_ratio, mask, sequence)[sequence]
    return log_ratio.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
