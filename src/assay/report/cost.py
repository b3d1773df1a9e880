"""What verdicts cost: tokens, FLOPs and money, each also per valid verdict. Pure.

FLOPs = 2 x active parameters x tokens (a multiplication and an addition for each parameter and token): for the prompt
tokens that were computed (prefill), for those that the prefix cache saved, and for the generated ones (decode). Not in
it: attention over the context, which grows with its length, and the meta RM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from assay.core.config import Config
from assay.data import ResultRow

_MILLION = 1_000_000
_PER_TOKEN = 2
"""FLOPs of one parameter for one token."""

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Config):
    """Money per million tokens, in whatever currency."""

    prompt: Amount
    """Prompt tokens that were computed."""
    completion: Amount
    cached: Amount | None = None
    """Prompt tokens out of the prefix cache; as ``prompt`` unless said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What to reckon with. ``parameters``: active ones, instead of those that the rows name."""

    price: Price | None = None
    parameters: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flops:
    """``prefill`` and ``decode`` were spent, ``saved`` were not."""

    prefill: int
    saved: int
    decode: int

    @property
    def spent(self) -> int:
        return self.prefill + self.decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of all votes together, failed ones included; ``verdicts`` is what came of it.

    ``tokens``: prompt (cached ones included) and completion. ``flops``: None where a row names no parameters.
    ``money``: None without a price.
    """

    verdicts: int
    tokens: int
    flops: Flops | None
    money: float | None

    @property
    def tokens_each(self) -> float | None:
        return self.tokens / self.verdicts if self.verdicts else None

    @property
    def flops_each(self) -> float | None:
        return self.flops.spent / self.verdicts if self.verdicts and self.flops else None

    @property
    def money_each(self) -> float | None:
        return self.money / self.verdicts if self.verdicts and self.money is not None else None


def cost_of(votes: Sequence[ResultRow], verdicts: int, rates: Rates | None = None) -> Cost | None:
    """What the votes cost; None where no tokens were counted (a rule, an engine that says nothing).

    Args:
        verdicts: how many judgments came to one.
    """
    rates = rates or Rates()
    prompt = sum(row.prompt_tokens for row in votes)
    completion = sum(row.completion_tokens for row in votes)
    if not prompt + completion:
        return None
    return Cost(
        verdicts=verdicts,
        tokens=prompt + completion,
        flops=_flops(votes, rates.parameters),
        money=None if rates.price is None else _money(votes, rates.price),
    )


def _flops(votes: Sequence[ResultRow], parameters: int | None) -> Flops | None:
    prefill = saved = decode = 0
    for row in votes:
        if not row.prompt_tokens + row.completion_tokens:
            continue
        each = parameters or row.parameters
        if each is None:
            return None
        prefill += _PER_TOKEN * each * (row.prompt_tokens - row.cached_tokens)
        saved += _PER_TOKEN * each * row.cached_tokens
        decode += _PER_TOKEN * each * row.completion_tokens
    return Flops(prefill=prefill, saved=saved, decode=decode)


def _money(votes: Sequence[ResultRow], price: Price) -> float:
    cached = sum(row.cached_tokens for row in votes)
    computed = sum(row.prompt_tokens for row in votes) - cached
    written = sum(row.completion_tokens for row in votes)
    of_cached = price.prompt if price.cached is None else price.cached
    return (computed * price.prompt + cached * of_cached + written * price.completion) / _MILLION
