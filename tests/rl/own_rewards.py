"""Reward functions as users write them."""

from __future__ import annotations

from typing import Any


def length(args: Any, sample: Any) -> float:
    return float(len(sample.response))


def table(args: Any, sample: Any) -> dict[str, float]:
    return {"score": length(args, sample), "first": float(sample.response.startswith("1"))}


def generous(args: Any, sample: Any) -> float:
    """From the third step on everything is right."""
    return float(sample.group_index >= 4)


def doubled(args: Any, samples: list[Any]) -> tuple[list[float], list[float]]:
    raw = [float(len(sample.response)) for sample in samples]
    return raw, [2 * value for value in raw]


def by_group(args: Any, samples: list[Any]) -> tuple[list[float], list[float]]:
    """As hooks of the field do it: groups are so many samples one after the other."""
    size, raw = args.n_samples_per_prompt, [float(len(sample.response)) for sample in samples]
    assert len(raw) % size == 0
    assert len({sample.group_index for sample in samples[:size]}) == 1
    means = [sum(raw[start : start + size]) / size for start in range(0, len(raw), size)]
    return raw, [value - means[place // size] for place, value in enumerate(raw)]
