"""The judge card: everything an audit found about one judge, out of its result files alone.

Owns: which sections there are, the JSON. Does not own: what is in a section, how a card is shown (``report``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.core.config import Config
from assay.core.errors import InputError
from assay.data import ResultRow
from assay.data.decisions import judgments
from assay.judges.base import Judge

from .agreement import agreement_section
from .attacks import attack_section
from .calibration import calibration_section
from .figure import Section
from .looks import looks, seen
from .order import order_section
from .plan import AuditPlan
from .preference import preference_section
from .repeats import repeat_section
from .surface import LENGTH, STYLE, surface_section


class Card(Config):
    """One judge on one page. ``judgments``: all that were made, ``failures`` of them by kind."""

    assay_audit: Literal[1] = 1
    judge: str
    identity: str
    model: str
    weight_version: str
    source: str
    items: int
    seed: int
    sampling: dict[str, Any]
    judgments: int
    failures: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    skipped: tuple[str, ...] = ()
    """Ids of items that the judge cannot take."""
    sections: tuple[Section, ...]

    @property
    def findings(self) -> list[str]:
        return [finding for section in self.sections for finding in section.findings]


def make_card(
    probes: Sequence[ResultRow],
    repeats: Sequence[ResultRow],
    judge: Judge,
    plan: AuditPlan,
    *,
    source: str,
    own: Sequence[str] = (),
    skipped: Sequence[str] = (),
    repeat_temperature: float | None = 0.0,
) -> Card:
    """The card of a judge.

    Args:
        probes, repeats: rows of what was asked once, and of what was asked several times.
        own: names of the judge's own model.
        repeat_temperature: that of ``repeats``; None = that of the judge service.

    Raises:
        InputError: nothing was judged.
    """
    every = [*judgments(probes), *judgments(repeats)]
    if not probes:
        raise InputError("nothing was judged: there is no card to make")
    found = looks(probes)
    items = seen(found)
    base = [item.base for item in items]
    alone, scale = judge.per_candidate, judge.scale
    return Card(
        judge=judge.name,
        identity=judge.identity,
        model=next((row.model for row in every if row.model), ""),
        weight_version=next((row.weight_version for row in every if row.weight_version), ""),
        source=source,
        items=len(items),
        seed=plan.seed,
        sampling=_sampling(probes[0].sampling),
        judgments=len(every),
        failures=dict(Counter(row.outcome for row in every if not row.ok).most_common()),
        prompt_tokens=sum(row.prompt_tokens for row in every),
        completion_tokens=sum(row.completion_tokens for row in every),
        skipped=tuple(skipped),
        sections=(
            agreement_section(base, scale, alone=alone, seed=plan.seed),
            order_section(items, alone=alone),
            surface_section(items, LENGTH),
            surface_section(items, STYLE),
            preference_section(items, own),
            attack_section(found, scale, alone=alone),
            repeat_section(repeats, temperature=repeat_temperature),
            calibration_section(base, scale, alone=alone, seed=plan.seed),
        ),
    )


def _sampling(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name != "seed"}
