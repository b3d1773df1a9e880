"""Repeatability: does the judge say the same when it is asked the same again, at temperature 0?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.data import ResultRow

from .figure import Section, measured, share
from .tag import read_tag

STEADY = 0.9
"""Fewer items than this share with one verdict are a finding."""


def repeat_section(rows: Iterable[ResultRow], *, temperature: float | None) -> Section:
    """How many judgments come out alike every time, in verdict and word for word.

    Args:
        rows: votes in one fixed order of the candidates, several a judgment, each asked anew.
        temperature: that the votes were drawn at; None = that of the judge service.
    """
    said = "the judge service's own temperature" if temperature is None else f"temperature {temperature:g}"
    section = Section(
        name="repeats",
        title="Repeatability",
        about=f"The same question several times, at {said}, nothing out of a cache. The answer should be the same.",
    )
    groups: dict[tuple[str, int | None], list[ResultRow]] = {}
    for row in rows:
        if read_tag(row.metadata) is not None:
            groups.setdefault((row.item_id, row.candidate), []).append(row)
    if not groups:
        return section.model_copy(update={"absent": "nothing was asked more than once"})
    several = [group for group in groups.values() if len(group) > 1]
    whole = [group for group in several if all(row.ranking is not None for row in group)]
    failed = len(several) - len(whole)
    verdicts = share("the same verdict every time", [_alike(row.ranking for row in g) for g in whole], failed=failed)
    texts = share("the same words every time", [_alike(row.text for row in g) for g in whole], failed=failed)
    mixed = share("sometimes a verdict, sometimes none", [_mixed(group) for group in several])
    times = max(map(len, several), default=0)
    finding = "equal questions get different verdicts at temperature 0: single judgments do not repeat"
    findings = (finding,) if temperature == 0 and verdicts.high is not None and verdicts.high < STEADY else ()
    note = f"each asked {times} times"
    return section.model_copy(
        update={"figures": measured(verdicts, texts, mixed), "findings": findings, "notes": (note,)}
    )


def _alike(values: Iterable[object]) -> bool:
    return len(set(values)) == 1


def _mixed(group: Sequence[ResultRow]) -> bool:
    return len({row.ranking is None for row in group}) > 1
