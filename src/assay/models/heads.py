"""Losses of reward heads, on their logits. Pure: one entry per pair or per text, no mean is taken here.

Sources: Bradley-Terry with a margin as in Llama 2 (arXiv 2307.09288, eq. 2); the centring term of Eisenstein et al.
(arXiv 2312.09244); PairRM and the meta RM of DeepSeek-GRM (arXiv 2504.02495) are binary cross-entropies of one logit.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import logsigmoid


def bradley_terry(chosen: Tensor, rejected: Tensor, *, margin: Tensor | None = None, center: float = 0.0) -> Tensor:
    """``-log sigmoid(chosen - rejected - margin) + center * (chosen + rejected)^2`` of each pair ``[P]``.

    Args:
        chosen: logits of the better answers ``[P]``.
        rejected: those of the worse ones ``[P]``.
        margin: by how much the better one should lead ``[P]``; None is 0.
        center: keeps the logits of a pair about 0, where the first term sees only their difference.
    """
    lead = chosen - rejected
    loss = -logsigmoid(lead if margin is None else lead - margin)
    return loss + center * (chosen + rejected) ** 2 if center else loss


def binary(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy ``-y log s(z) - (1 - y) log(1 - s(z))`` of each logit ``[R]``; labels are 0 or 1.

    For a meta RM the label says whether the judgment is right (eq. 10), for a pair RM whether the first is better.
    """
    return -labels * logsigmoid(logits) - (1 - labels) * logsigmoid(-logits)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMetrics:
    """Sums over the examples of a part of a batch (0-d tensors)."""

    examples: Tensor
    right: Tensor
    """Pairs whose better answer has the higher logit; texts whose logit has the sign of the label. A tie is half."""
    lead: Tensor
    """By how much it is right: chosen minus rejected, or the logit with the sign of the label."""
    logits: Tensor
    """Of all texts."""
    texts: Tensor

    def __add__(self, other: HeadMetrics) -> HeadMetrics:
        return HeadMetrics(
            examples=self.examples + other.examples,
            right=self.right + other.right,
            lead=self.lead + other.lead,
            logits=self.logits + other.logits,
            texts=self.texts + other.texts,
        )

    def means(self) -> dict[str, float]:
        examples, texts = max(1.0, float(self.examples)), max(1.0, float(self.texts))
        return {
            "accuracy": float(self.right) / examples,
            "lead": float(self.lead) / examples,
            "logit": float(self.logits) / texts,
        }


def shares_right(leads: Tensor) -> Tensor:
    """1 for a lead above 0, 0 for one below, half for none."""
    return ((leads > 0).to(leads.dtype) + (leads >= 0).to(leads.dtype)) / 2


def head_metrics(leads: Tensor, logits: Tensor, live: Tensor) -> HeadMetrics:
    """Sums over the examples that count.

    Args:
        leads: ``[E]``, see ``HeadMetrics.lead``.
        logits: ``[R]``, of all texts of the examples, example after example.
        live: ``[E]`` bool: whether an example counts.
    """
    leads, logits = leads.detach(), logits.detach()
    kept = live.to(leads.dtype)
    texts = live.repeat_interleave(logits.shape[0] // max(1, leads.shape[0])).to(leads.dtype)
    return HeadMetrics(
        examples=kept.sum(),
        right=(shares_right(leads) * kept).sum(),
        lead=(leads * kept).sum(),
        logits=(logits * texts).sum(),
        texts=texts.sum(),
    )
