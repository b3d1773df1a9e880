"""Seconds of everything in a step: measured where it was, else from the card's table and stated efficiencies.

A decoding step of an engine with ``b`` requests takes ``max(floor, base + b * each)`` seconds: reading the weights
once, and for every request its cache and its operations; the floor is the host's work for a step.
"""

from __future__ import annotations

from dataclasses import dataclass

from .cluster import Card
from .job import EngineRate, Rates, Training
from .model import ModelShape
from .trainer import trained_parameters

READ = 0.6
"""Share of a card's bandwidth that decoding reaches (7.35 B on an H200: 5.1 ms a step)."""

PREFILL, DECODE, TRAIN = 0.65, 0.5, 0.4
"""Shares of a card's operations that reading prompts, decoding and training reach."""

HOST_STEP, HOST_REQUEST = 0.0033, 0.0025
"""Seconds of the host for a decoding step and for a request (0.49 B on an H200, SGLang 0.5.17)."""

HOST_JUDGEMENT = 0.0055
"""Seconds of the host for one judgement: plan, ask, read, record (0.49 B judge of one token on an H200)."""

ALL_REDUCE = 20e-6
"""Seconds a layer for the two reductions of an engine over several GPUs."""

LAUNCH = 0.005
"""Seconds of the host for one layer of one forward and backward pass; what bounds small models (135 M on an H200)."""

HOST_LINK = 9e9
"""Bytes a second between a card and the host's memory (15 GB resumed in 1.65 s)."""

STATES_LINK = 4.3e9
"""Bytes a second of the trainer's own states, moved tensor by tensor (135 M, H200: 0.43 s and 0.32 s)."""

DRAIN, CANARY, SYNC, SYNC_RATE = 0.4, 0.2, 0.15, 40e9
"""Seconds to drain an engine, to prove it after waking, of a synchronisation; bytes a second of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpeed:
    """How fast one engine is. ``gpu``: share of its time in which it needs the card itself, 0 to 1."""

    base: float
    each: float
    prefill: float
    floor: float = 0.0
    request: float = 0.0
    gpu: float = 1.0
    most: int = 256

    def step(self, requests: int) -> float:
        """Seconds in which each of so many requests gets one token."""
        return max(self.floor, self.base + requests * self.each)

    def admission(self, prompt: float) -> float:
        """Seconds that taking up a request costs: reading its prompt, while the host prepares the next."""
        return max(self.request, prompt * self.prefill)


def assumed_engine(shape: ModelShape, card: Card, gpus: int, context: float, most: int) -> EngineSpeed:
    """Speed by the table, at ``context`` tokens of a request on average."""
    reads = card.bandwidth * READ
    on_gpu = card.name != "CPU"
    base = shape.stored / gpus / reads + (ALL_REDUCE * shape.layers if gpus > 1 else 0.0)
    operations = (2 * shape.active + shape.attention_flops(2 * context)) / gpus
    each = shape.cache_bytes(gpus) * context / reads + operations / (card.flops * DECODE)
    floor = HOST_STEP if on_gpu else 0.0
    busy = base + min(most, 64) * each
    return EngineSpeed(
        base=base,
        each=each,
        prefill=2 * shape.active / gpus / (card.flops * PREFILL),
        floor=floor,
        request=HOST_REQUEST if on_gpu else 0.0,
        gpu=busy / max(busy, floor),
        most=most,
    )


def measured_engine(rate: EngineRate, assumed: EngineSpeed) -> EngineSpeed:
    """Speed by one or two measured points; how much of it is the card's own stays assumed."""
    (low, slow), (high, fast) = rate.tokens_per_s[0], rate.tokens_per_s[-1]
    first, last = low / slow, high / fast
    each = max(0.0, (last - first) / (high - low)) if high != low else 0.0
    prefill = assumed.prefill if rate.prefill_tokens_per_s is None else 1 / rate.prefill_tokens_per_s
    return EngineSpeed(
        base=max(0.0, first - low * each),
        each=each,
        prefill=prefill,
        request=rate.request_s,
        gpu=assumed.gpu,
        most=assumed.most,
    )


def train_seconds(
    shape: ModelShape, training: Training, rates: Rates, card: Card, *, tokens: float, context: float, gpus: int
) -> float:
    """Forward, backward and update over ``tokens`` on so many GPUs.

    Six operations for each active parameter and token, eight with checkpointing; with adapters the weights' own
    gradients fall away, and it is four and six.
    """
    if rates.train_tokens_per_s is not None:
        return tokens / gpus / rates.train_tokens_per_s
    passes = (2 if training.lora_rank else 3) + (1 if training.checkpointing else 0)
    operations = passes * (2 * shape.active + shape.attention_flops(context))
    update = 4 * 4 * trained_parameters(shape, training) / gpus / (card.bandwidth * READ)
    return (
        max(tokens / gpus * operations / (card.flops * TRAIN), _launches(shape, training, card, tokens, gpus)) + update
    )


def forward_seconds(
    shape: ModelShape, training: Training, rates: Rates, card: Card, *, tokens: float, context: float, gpus: int
) -> float:
    """One pass that reads ``tokens`` for their log-probs."""
    if rates.forward_tokens_per_s is not None:
        return tokens / gpus / rates.forward_tokens_per_s
    operations = 2 * shape.active + shape.attention_flops(context)
    launches = _launches(shape, training, card, tokens, gpus) / 3
    return max(tokens / gpus * operations / (card.flops * TRAIN), launches)


def _launches(shape: ModelShape, training: Training, card: Card, tokens: float, gpus: int) -> float:
    if card.name == "CPU":
        return 0.0
    return max(1.0, tokens / gpus / training.micro_batch_tokens) * shape.layers * LAUNCH
