"""How well answers to a set of prompts do: pass@k, means, and what is left out. Pure.

An answer that has no reward (its rollout or its judgment failed) is in no figure but the counts of failures; a prompt
with fewer than k rewarded answers is in no pass@k.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from assay.core.errors import InputError

from .sample import Group, Sample, Status


def pass_at(k: int, n: int, right: int) -> float:
    """P(at least one of k answers is right), unbiased from n answers of which ``right`` are (Chen et al. 2021, eq. 1).

    Raises:
        InputError: k is not between 1 and n, or there are more right answers than answers.
    """
    if not 1 <= k <= n or not 0 <= right <= n:
        raise InputError(f"pass@{k} of {n} answers, {right} of them right, is not defined")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def ladder(n: int) -> tuple[int, ...]:
    """The k of pass@k that are shown for n answers to a prompt: powers of two, and n."""
    return tuple(sorted({n, *(2**power for power in range(n.bit_length()))}))


def figures(groups: Sequence[Group], n: int, above: float) -> dict[str, float]:
    """The figures of a set.

    Args:
        n: answers asked of each prompt.
        above: an answer whose reward is above this is right.
    """
    samples = [sample for group in groups for sample in group.samples]
    values = [[value for value in map(_worth, group.samples) if value is not None] for group in groups]
    scored = [own for own in values if own]
    found = {"prompts": float(len(groups)), "answers": float(len(samples))}
    if scored:
        flat = [value for own in scored for value in own]
        found |= {"reward": statistics.fmean(flat), f"avg@{n}": statistics.fmean(map(statistics.fmean, scored))}
    for k in ladder(n):
        enough = [pass_at(k, len(own), sum(value > above for value in own)) for own in values if len(own) >= k]
        if enough:
            found[f"pass@{k}"] = statistics.fmean(enough)
    return found | _left_out(samples, sum(map(len, values))) | _lengths(samples)


def _worth(sample: Sample) -> float | None:
    return None if sample.status is Status.FAILED or sample.reward is None else sample.reward.value


def _left_out(samples: Sequence[Sample], scored: int) -> dict[str, float]:
    """``failed``: the share of answers without a reward; ``failed_<kind>``: how many of each kind."""
    if not samples:
        return {}
    failures = [s.failure or (None if s.reward is None else s.reward.failure) for s in samples]
    kinds = Counter(str(failure.kind) for failure in failures if failure is not None)
    counted = {f"failed_{kind}": float(count) for kind, count in sorted(kinds.items())}
    return {"failed": 1 - scored / len(samples), **counted}


def _lengths(samples: Sequence[Sample]) -> dict[str, float]:
    answered = [sample for sample in samples if sample.status is not Status.FAILED]
    if not answered:
        return {}
    return {
        "response_length": statistics.fmean(sample.response_length for sample in answered),
        "truncated": sum(sample.truncated for sample in answered) / len(answered),
    }
