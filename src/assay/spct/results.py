"""A run's figures out of what is recorded: every model of the main line, every ablation that is measured.

Owns: which files, which comparisons. Does not own: the figures (``evaluation``), how they are shown (``report.spct``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.core.config import Config
from assay.core.intervals import Interval
from assay.data import read_results
from assay.synthetic.kinds import KINDS
from assay.tracking.lines import NAME, read_lines

from .evaluation import GREEDY, META, VOTING, Measured, by_kind, difference, gain, interval, measure
from .paper import ABLATIONS, published, published_gain
from .pipeline.line import GREEDY as GREEDY_FILE
from .pipeline.line import META_STAGE, RFT, RUN, VOTES, WEIGHED, evaluated
from .pipeline.mark import read_mark
from .pipeline.recipe import MODELS, Model
from .pipeline.variants import Variant
from .run import REPORT_JSON
from .tally import RftReport

_GROUPS = {kind.name: kind.group for kind in KINDS.values()}


class Figure(Config):
    """A share, or a difference of shares, with the middle 95 % of its resamples."""

    value: float
    low: float
    high: float


class SeriesFigures(Config):
    """One way of asking. ``tied``, ``read``: shares of the judgments. ``paper``: in points, where it has it."""

    accuracy: Figure
    tied: float
    read: float
    paper: float | None = None


class GainFigures(Config):
    """How much one way is above another, over the same items."""

    series: str
    over: str
    gain: Figure
    paper: float | None = None


class GroupFigures(Config):
    """Of one source, greedy."""

    accuracy: Figure
    items: int


class ModelFigures(Config):
    """A model on the held-out items."""

    model: str
    items: int
    tokens: float
    """Mean length of a vote."""
    lost: int = 0
    """Items that are left out, because no text came for one of their judgments."""
    series: dict[str, SeriesFigures]
    gains: tuple[GainFigures, ...]
    sources: dict[str, GroupFigures]

    @property
    def k(self) -> int:
        """Most votes."""
        return max(int(name.removeprefix(VOTING)) for name in self.series if name.startswith(VOTING))


class AblationFigures(Config):
    """A row of the table of ablations. ``against``: which model of the main line it differs from, and by how much."""

    name: str
    about: str
    figures: ModelFigures
    against: str
    difference: Figure | None
    paper: float | None = None
    paper_against: float | None = None


class StageTime(Config):
    """What a stage took, and whether it is done."""

    name: str
    seconds: float
    done: bool
    minutes: float | None = None


class SpctResult(Config):
    """All that is said of a run."""

    base: str
    judge: str
    k_meta: int | None
    models: tuple[ModelFigures, ...]
    steps: tuple[GainFigures, ...]
    """Greedy, each model above the one before."""
    ablations: tuple[AblationFigures, ...]
    stages: tuple[StageTime, ...]
    rft: RftReport | None = None
    meta: dict[str, float]
    """The last measurement of the meta RM on votes that it was not trained on."""


def results(lines: Sequence[Variant]) -> SpctResult | None:
    """The figures of a run, as far as it is; None where no model is measured yet.

    Args:
        lines: the main line first.

    Raises:
        InputError: a file is broken.
    """
    main = lines[0]
    measured = {model: found for model in MODELS if (found := _measured(main, model)) is not None}
    if not measured:
        return None
    return SpctResult(
        base=main.recipe.base,
        judge=main.recipe.judge,
        k_meta=main.recipe.evaluate.k_meta,
        models=tuple(_figures(model, main.recipe.judge, found) for model, found in measured.items()),
        steps=tuple(_steps(measured)),
        ablations=tuple(_ablations(lines[1:], measured)),
        stages=tuple(_stages(lines)),
        rft=_rft(main),
        meta=_meta(main),
    )


def _measured(line: Variant, model: Model) -> Measured | None:
    stage = evaluated(model)
    if not _done(line, stage):
        return None
    folder = line.folder(stage)
    weighed = _done(line, WEIGHED) and model in line.recipe.meta.models
    votes = line.folder(WEIGHED) / f"{model}.parquet" if weighed else folder / VOTES
    return measure(read_results(folder / GREEDY_FILE), read_results(votes), line.recipe.evaluate.k_meta)


def _done(line: Variant, stage: str) -> bool:
    if all(one.stage.name != stage for one in line.placed):
        return False
    placed = line.at(stage)
    mark = read_mark(placed.folder)
    return mark is not None and mark.made is not None and mark.key == placed.key


def _figures(model: str, judge: str, measured: Measured) -> ModelFigures:
    known = judge if judge == "pairwise" and model == "rl" else model
    series = {
        name: SeriesFigures(
            accuracy=_figure(interval(measured.values(name))),
            tied=measured.mean(name, "tied"),
            read=measured.mean(name, "read"),
            paper=published(known, name),
        )
        for name in measured.series
    }
    return ModelFigures(
        model=model,
        items=len(measured.items),
        tokens=measured.tokens,
        lost=measured.lost,
        series=series,
        gains=tuple(_gains(known, measured)),
        sources={
            name: GroupFigures(accuracy=_figure(found), items=n)
            for name, (found, n) in by_kind(measured, _GROUPS).items()
        },
    )


def _gains(model: str, measured: Measured) -> Iterator[GainFigures]:
    k = max(int(name.removeprefix(VOTING)) for name in measured.series if name.startswith(VOTING))
    one, every, meta = f"{VOTING}1", f"{VOTING}{k}", f"{META}{k}"
    for series, over in ((every, one), (meta, every), (every, GREEDY), (meta, GREEDY)):
        if series in measured.series:
            found = _figure(gain(measured, series, over))
            yield GainFigures(series=series, over=over, gain=found, paper=published_gain(model, series, over))


def _steps(measured: Mapping[str, Measured]) -> Iterator[GainFigures]:
    names = list(measured)
    for before, after in pairwise(names):
        found = difference(measured[after], measured[before])
        if found is not None:
            one, other = published(after, GREEDY), published(before, GREEDY)
            paper = None if one is None or other is None else round(one - other, 1)
            yield GainFigures(series=after, over=before, gain=_figure(found), paper=paper)


def _ablations(lines: Sequence[Variant], main: Mapping[str, Measured]) -> Iterator[AblationFigures]:
    for line in lines:
        ablation = line.ablation
        found = None if ablation is None else _measured(line, ablation.until)
        if ablation is None or found is None:
            continue
        against = ablation.against or ablation.until
        same = main.get(against)
        apart = None if same is None else difference(found, same)
        whole = {"rl": "DeepSeek-GRM-27B", "rft": "DeepSeek-GRM-27B-RFT"}.get(against)
        paper = None if ablation.paper is None else ABLATIONS.get(ablation.paper)
        yield AblationFigures(
            name=ablation.name,
            about=ablation.about or ablation.name,
            figures=_figures(ablation.until, line.recipe.judge, found),
            against=against,
            difference=None if apart is None else _figure(apart),
            paper=paper,
            paper_against=None if paper is None or whole is None else ABLATIONS[whole],
        )


def _stages(lines: Sequence[Variant]) -> Iterator[StageTime]:
    seen: set[Path] = set()
    for place, line in enumerate(lines):
        for one in line.placed:
            mark = read_mark(one.folder)
            if mark is None or one.folder in seen:
                continue
            seen.add(one.folder)
            name = one.stage.name if not place else f"{line.name}/{one.stage.name}"
            yield StageTime(name=name, seconds=mark.seconds, done=mark.made is not None, minutes=one.stage.minutes)


def _rft(line: Variant) -> RftReport | None:
    path = line.folder(RFT) / "out" / REPORT_JSON
    return RftReport.model_validate_json(path.read_text("utf-8")) if path.exists() else None


def _meta(line: Variant) -> dict[str, float]:
    path = line.folder(META_STAGE) / RUN / NAME
    told: list[dict[str, Any]] = read_lines(path) if path.exists() else []
    last = next((line for line in reversed(told) if any(name.startswith("eval/") for name in line)), {})
    return {
        name.rpartition("/")[2]: float(value)
        for name, value in last.items()
        if name.startswith("eval/") and value is not None
    }


def _figure(found: Interval) -> Figure:
    return Figure(value=found.value, low=found.low, high=found.high)
