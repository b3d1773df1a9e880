"""What one service offers: judge models by route key, the rule engine, and judges by name. Data, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.judges.base import Judge
from assay.scoring.meta import MetaScorer
from assay.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """``judges`` are those that ``/score`` takes by name: a client cannot make the service read a judge from a file.

    ``metas``: the meta RMs, which the scorers of the instances share.
    ``model_paths``: what each instance's model was asked for by, where that is not the name its engine goes by.
    """

    instances: Mapping[str, Scorer]
    rules: Scorer | None = None
    judges: Mapping[str, Judge] = field(default_factory=dict[str, Judge])
    metas: Mapping[str, MetaScorer] = field(default_factory=dict[str, MetaScorer])
    model_paths: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for key, scorer in self.instances.items():
            if scorer.instance != key:
                raise ValueError(f"the scorer at route key {key!r} records as {scorer.instance!r}; name it alike")
