"""The report of a build: how much was accepted, by source and by kind. Nothing in it depends on time or on restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from assay.core.config import Config

from .fates import Fate, Standing
from .plan import RftPlan


class Counts(Config):
    """What became of some items. An item is what one sample is about: of a judge that looks at one candidate at a
    time, each candidate is one."""

    items: int = 0
    too_easy: int = 0
    unfinished: int = 0
    kept_items: int = 0
    """Items with a row at least."""
    samples: dict[Fate, int] = Field(default_factory=dict[Fate, int])
    """Samples without a hint, by what became of them."""
    accepted: int = 0
    hinted: dict[Fate, int] = Field(default_factory=dict[Fate, int])
    hinted_accepted: int = 0

    @property
    def asked(self) -> int:
        return sum(self.samples.values())

    @property
    def hinted_asked(self) -> int:
        return sum(self.hinted.values())

    @property
    def rows(self) -> int:
        return self.accepted + self.hinted_accepted

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            items=self.items + other.items,
            too_easy=self.too_easy + other.too_easy,
            unfinished=self.unfinished + other.unfinished,
            kept_items=self.kept_items + other.kept_items,
            samples=_added(self.samples, other.samples),
            accepted=self.accepted + other.accepted,
            hinted=_added(self.hinted, other.hinted),
            hinted_accepted=self.hinted_accepted + other.hinted_accepted,
        )


class GeneralCounts(Config):
    """Rows of general instructions. ``wanted``: by the ratio. ``given``: with the answer that the file has.
    ``distilled``: answered by the model that was sampled, not by people or a better model."""

    source: str
    wanted: int
    there: int
    """Rows of the file."""
    given: int = 0
    distilled: int = 0
    failed: int = 0
    """Prompts whose answer is missing, empty or cut off."""


class RftReport(Config):
    """All that is said of a build."""

    plan: RftPlan
    judges: tuple[str, ...]
    """Identities."""
    models: tuple[str, ...]
    """Who was sampled, with the version of its weights."""
    total: Counts
    by_source: dict[str, Counts]
    by_kind: dict[str, Counts]
    skipped: dict[str, str]
    """Items that could not be sampled, and why."""
    general: GeneralCounts | None = None

    @property
    def rows(self) -> int:
        return self.total.rows + (self.general.given + self.general.distilled if self.general else 0)


def counts_of(standing: Standing, fates: Counter[Fate], accepted: int, hinted: Fate | None, taken: int) -> Counts:
    """The counts of one item. ``taken``: rows out of its hinted sample."""
    return Counts(
        items=1,
        too_easy=int(standing is Standing.TOO_EASY),
        unfinished=int(standing is Standing.UNFINISHED),
        kept_items=int(accepted + taken > 0),
        samples=dict(fates),
        accepted=accepted,
        hinted={} if hinted is None else {hinted: 1},
        hinted_accepted=taken,
    )


def _added(one: Mapping[Fate, int], other: Mapping[Fate, int]) -> dict[Fate, int]:
    found = {fate: one.get(fate, 0) + other.get(fate, 0) for fate in Fate}
    return {fate: count for fate, count in found.items() if count}
