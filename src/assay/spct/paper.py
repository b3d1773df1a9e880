"""What DeepSeek-GRM (arXiv 2504.02495v3) printed, to stand beside a run: overall means of four benchmarks, 27B.

They are of other items, another model and another size: directions can be compared, levels cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SERIES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "rft": {"greedy": 68.8, "voting@1": 67.8, "voting@8": 69.3},
        "rl": {
            "greedy": 69.9, "voting@1": 67.9, "voting@8": 70.6, "voting@32": 71.0, "meta@8": 72.0, "meta@32": 72.8,
        },
        "pairwise": {"greedy": 67.8, "voting@1": 67.0, "voting@8": 67.6},
    }
)  # fmt: skip
"""Tables 2 and 6, by model and series; ``pairwise`` is LLM-as-a-Judge."""

ABLATIONS: Mapping[str, float] = MappingProxyType(
    {
        "DeepSeek-GRM-27B": 69.9,
        "w/o Principle Generation": 67.5,
        "w/o Rejective Sampling": 68.7,
        "DeepSeek-GRM-27B-RFT": 68.8,
        "RFT w/o Hinted Sampling": 68.0,
        "RFT w/o Non-Hinted Sampling": 67.4,
        "RFT w/o Rejective Sampling": 66.1,
        "RFT w/o General Instruction Data": 63.3,
        "LLM-as-a-Judge": 67.8,
    }
)
"""The ablation table, greedy. Its row without hinted sampling is printed as 68.0 and its parts come to 67.7."""


def published(model: str, series: str) -> float | None:
    """What was printed for a model's series."""
    return SERIES.get(model, {}).get(series)


def published_gain(model: str, series: str, over: str) -> float | None:
    """How much higher one printed figure is than another of the same model."""
    one, other = published(model, series), published(model, over)
    return None if one is None or other is None else round(one - other, 1)
