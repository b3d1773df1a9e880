"""Estimators of KL(pi || reference) from the log-probs of sampled tokens (J. Schulman, "Approximating KL divergence").

With d = ln reference - ln pi, of a token sampled from pi:

| name | value | |
|---|---|---|
| ``k1`` | -d | unbiased; noisy, and negative at times |
| ``k2`` | d^2 / 2 | biased, low variance |
| ``k3`` | e^d - d - 1 | unbiased, never negative; GRPO's |
| ``low_var_kl`` | ``k3`` held at 10 | so that one token cannot blow up a step; the name and limit of verl and slime |

As a loss, ``k1`` has a gradient of mean zero on sampled tokens: it is meant for the reward.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch import Tensor

KlType: TypeAlias = Literal["k1", "k2", "k3", "low_var_kl"]

_VALUE_LIMIT = 10.0
_EXPONENT_LIMIT = 20.0
"""Beyond it ``k3`` is over its limit on either side; held there so that no infinity reaches the gradient."""


def kl_estimate(logprobs: Tensor, reference: Tensor, kind: KlType) -> Tensor:
    """The estimate at each token, ``[T]``, differentiable in ``logprobs [T]``."""
    d = reference - logprobs
    if kind == "k1":
        return -d
    if kind == "k2":
        return d.square() / 2
    if kind == "k3":
        return d.exp() - d - 1
    d = d.clamp(-_EXPONENT_LIMIT, _EXPONENT_LIMIT)
    return (d.exp() - d - 1).clamp(max=_VALUE_LIMIT)
