"""Log-probs of given tokens and entropies from logits, a few tokens at a time.

A vocabulary is large: float32 log-softmax of ``[T, vocabulary]`` logits and its gradient are what runs out of memory
first. Here the logits are kept as they came (bfloat16, say) and only ``chunk`` rows are ever held in float32, forward
and backward; ``hidden_logprobs`` does not even keep the logits, but computes them again from the hidden states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK = 1024
"""Rows at a time: 1024 x 150,000 in float32 is 0.6 GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """ln P of each token and the entropy (nats) of its distribution, both ``[T]``, float32 (float64 from float64)."""

    logprobs: Tensor
    entropy: Tensor


def token_logprobs(logits: Tensor, tokens: Tensor, *, temperature: float = 1.0, chunk: int = CHUNK) -> TokenLogprobs:
    """Read ``tokens [T]`` off ``logits [T, vocabulary]``, where row t predicts token t; both results have gradients.

    ``temperature`` divides the logits: the log-probs are those of sampling at it, as the rollout's must be too.
    """
    logprobs, entropy = _TokenLogprobs.apply(logits, tokens, temperature, chunk)  # pyright: ignore[reportGeneralTypeIssues]
    return TokenLogprobs(logprobs=logprobs, entropy=entropy)


def hidden_logprobs(
    hidden: Tensor, head: Callable[[Tensor], Tensor], tokens: Tensor, *, temperature: float = 1.0, chunk: int = CHUNK
) -> TokenLogprobs:
    """The same from ``hidden [T, d]`` and the output layer ``head``: logits are made a chunk at a time and never kept.

    Costs the head's forward pass once more, in the backward pass.
    """

    def read(rows: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        found = token_logprobs(head(rows), ids, temperature=temperature, chunk=chunk)
        return found.logprobs, found.entropy

    parts = [
        checkpoint(read, rows, ids, use_reentrant=False)
        for rows, ids in zip(hidden.split(chunk), tokens.split(chunk), strict=True)
    ]
    return TokenLogprobs(
        logprobs=torch.cat([logprobs for logprobs, _ in parts]), entropy=torch.cat([entropy for _, entropy in parts])
    )


class _TokenLogprobs(torch.autograd.Function):
    """With p = softmax(z), H its entropy: d ln p_k / dz = e_k - p, and dH / dz = -p (ln p + H)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor, temperature: float, chunk: int) -> tuple[Tensor, Tensor]:
        pairs = [
            _read(rows, ids, temperature) for rows, ids in zip(logits.split(chunk), tokens.split(chunk), strict=True)
        ]
        logprobs, entropy = (torch.cat(column) for column in zip(*pairs, strict=True))
        ctx.save_for_backward(logits, tokens, entropy)
        ctx.set_materialize_grads(False)
        ctx.temperature, ctx.chunk = temperature, chunk
        return logprobs, entropy

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor, None, None, None]:
        logits, tokens, entropy = ctx.saved_tensors
        out = torch.empty_like(logits)
        for start in range(0, logits.shape[0], ctx.chunk):
            part = slice(start, start + ctx.chunk)
            of_logprobs, of_entropy = (None if grad is None else grad[part].unsqueeze(1) for grad in grads)
            out[part] = _slope(logits[part], tokens[part], entropy[part], of_logprobs, of_entropy, ctx.temperature)
        return out, None, None, None


# One chunk each, so that what is as large as a chunk of logits is given back before the next.


def _read(logits: Tensor, tokens: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    log_p = _log_softmax(logits, temperature)
    own = log_p.gather(1, tokens.unsqueeze(1)).squeeze(1)
    p = log_p.exp()
    return own, -p.mul_(_finite(log_p)).sum(-1)


def _slope(
    logits: Tensor,
    tokens: Tensor,
    entropy: Tensor,
    of_logprobs: Tensor | None,
    of_entropy: Tensor | None,
    temperature: float,
) -> Tensor:
    """The gradient of the logits ``[rows, vocabulary]``, from those of the results ``[rows, 1]``."""
    log_p = _log_softmax(logits, temperature)
    grad = log_p.exp()
    if of_entropy is not None:
        pull = _finite(log_p).add_(entropy.unsqueeze(1)).mul_(of_entropy)
        grad.mul_(pull.neg_() if of_logprobs is None else pull.add_(of_logprobs).neg_())
    else:
        grad.mul_(0 if of_logprobs is None else -of_logprobs)
    if of_logprobs is not None:
        grad.scatter_add_(1, tokens.unsqueeze(1), of_logprobs)
    return grad.div_(temperature)


def _log_softmax(logits: Tensor, temperature: float) -> Tensor:
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return (z if temperature == 1 else z / temperature).log_softmax(-1)


def _finite(log_p: Tensor) -> Tensor:
    """``log_p`` in place, with 0 for a filtered token: its p is 0, and 0 * -inf would be no number."""
    return log_p.masked_fill_(log_p == -torch.inf, 0)
