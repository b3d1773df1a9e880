"""The tables of a run of SPCT, as texts: the page and the Markdown show the same. Pure.

Figures are in points (percent). Beside them stands what DeepSeek-GRM printed, of other items and 27B: directions can be
compared, levels cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.spct.evaluation import GREEDY, META, VOTING
from assay.spct.results import AblationFigures, Figure, GainFigures, ModelFigures, SpctResult

from .words import duration, number, percent

NAMES = {"base": "base model", "cold": "cold start", "rft": "+ RFT", "rl": "+ RFT + RL"}
NONE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``lead``: what must be known to read it."""

    title: str
    lead: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(result: SpctResult) -> Iterator[Table]:
    """All that there is something to say in."""
    yield _models(result)
    yield _gains(result)
    if result.ablations:
        yield _ablations(result)
    yield from _curves(result)
    yield _sources(result)
    if result.rft is not None:
        yield _rft(result)
    if result.meta:
        yield _meta(result)
    yield _stages(result)


def name_of(model: str) -> str:
    """What a model is called."""
    return NAMES.get(model, model)


def facts(result: SpctResult) -> Iterator[tuple[str, str]]:
    """The run in a line: value and name."""
    first = result.models[0]
    yield result.base, "base"
    yield result.judge, "judge"
    yield number(first.items), "held-out items"
    yield f"k = {first.k}", "votes"


def notes(result: SpctResult) -> Iterator[str]:
    """What the tables do not say."""
    yield (
        "A verdict whose best candidate shares the top with others is worth that share, as the paper draws among them; "
        "one that cannot be read is worth nothing. Voting@1 is the mean of single votes at the temperature of votes, "
        "which is not greedy. Intervals are the middle 95 % of resamples of the items; gains are over the same items."
    )
    yield "Paper: DeepSeek-GRM-27B on four benchmarks. Directions can be compared with it, levels cannot."
    missing = [name_of(model) for model in NAMES if all(one.model != model for one in result.models)]
    if missing:
        yield f"Not measured yet: {', '.join(missing)}."
    lost = [f"{number(one.lost)} of {name_of(one.model)}" for one in result.models if one.lost]
    if lost:
        yield f"Items left out, because no text came for one of their judgments: {', '.join(lost)}."
    if not any(name.startswith(META) for one in result.models for name in one.series):
        yield "The meta RM has not weighed the votes yet."


def _models(result: SpctResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for one in result.models:
        every, meta = f"{VOTING}{one.k}", f"{META}{one.k}"
        greedy = one.series[GREEDY]
        cells = [_series(one, name) for name in (GREEDY, f"{VOTING}1", every, meta)]
        single = one.series[f"{VOTING}1"]
        rows.append(
            (
                name_of(one.model),
                *cells,
                percent(greedy.read),
                percent(single.read),
                percent(greedy.tied),
                percent(one.series[every].tied),
                number(round(one.tokens)),
            )
        )
    k = result.models[0].k
    return Table(
        title="Models",
        lead="Accuracy on the held-out items, with its interval, and the paper's figure in brackets.",
        columns=(
            "model", "greedy", "Voting@1", f"Voting@{k}", f"MetaRM@{k}", "read, greedy", "read, votes",
            "tied, greedy", f"tied, @{k}", "tokens",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _gains(result: SpctResult) -> Table:
    rows = [
        (name_of(one.model), f"{_said(gain.series)} − {_said(gain.over)}", _points(gain.gain, sign=True), _paper(gain))
        for one in result.models
        for gain in one.gains
    ]
    steps = [
        (f"{name_of(one.series)}", f"greedy − greedy of {name_of(one.over)}", _points(one.gain, sign=True), _paper(one))
        for one in result.steps
    ]
    return Table(
        title="What helps",
        lead="Differences over the same items, in points.",
        columns=("model", "difference", "points", "paper"),
        rows=(*steps, *rows),
    )


def _ablations(result: SpctResult) -> Table:
    main = [(name_of(one.model), *_ablated(one), "", "") for one in result.models if one.model in ("rft", "rl")]
    rows = [(one.about, *_ablated(one.figures), _against(one), _paper_row(one)) for one in result.ablations]
    k = result.models[0].k
    return Table(
        title="Ablations",
        lead="Each is the main line but for what its name says. Difference: greedy, to the model of the same stage.",
        columns=("", "greedy", f"Voting@{k}", "read", "difference", "paper, difference"),
        rows=(*main, *rows),
    )


def _ablated(one: ModelFigures) -> tuple[str, ...]:
    return _series(one, GREEDY), _series(one, f"{VOTING}{one.k}"), percent(one.series[GREEDY].read)


def _against(one: AblationFigures) -> str:
    return NONE if one.difference is None else f"{_points(one.difference, sign=True)} to {name_of(one.against)}"


def _paper_row(one: AblationFigures) -> str:
    if one.paper is None or one.paper_against is None:
        return NONE
    return f"{one.paper:.1f}, {one.paper - one.paper_against:+.1f}"


def _curves(result: SpctResult) -> Iterator[Table]:
    """The curves against k as a table (the paper's figure 1)."""
    at = sorted({_k(name) for one in result.models for name in one.series if name != GREEDY})
    rows = [
        (name_of(one.model), label, *(_short(one, f"{start}{k}") for k in at))
        for one in result.models
        for start, label in ((VOTING, "Voting"), (META, "MetaRM"))
        if any(name.startswith(start) for name in one.series)
    ]
    if len(at) > 1:
        yield Table(
            title="Accuracy by votes",
            lead="With and without the meta RM, which keeps half of the votes.",
            columns=("model", "k =", *map(str, at)),
            rows=tuple(rows),
        )


def _sources(result: SpctResult) -> Table:
    names = dict.fromkeys(name for one in result.models for name in one.sources)
    rows = [
        (name_of(one.model), *(_points(one.sources[name].accuracy) if name in one.sources else NONE for name in names))
        for one in result.models
    ]
    counts = {name: next(one.sources[name].items for one in result.models if name in one.sources) for name in names}
    return Table(
        title="By source",
        lead="Greedy.",
        columns=("model", *(f"{name} ({number(counts[name])})" for name in names)),
        rows=tuple(rows),
    )


def _rft(result: SpctResult) -> Table:
    assert result.rft is not None
    total, general = result.rft.total, result.rft.general
    mixed = 0 if general is None else general.given + general.distilled
    row = (
        total.items, total.too_easy, total.asked, total.accepted, total.hinted_asked, total.hinted_accepted, mixed,
    )  # fmt: skip
    return Table(
        title="Rejection sampling",
        lead="Items that are right every time are left out. General rows are the base model's own answers.",
        columns=("items", "too easy", "samples", "kept", "hinted", "kept", "general rows"),
        rows=(tuple(map(number, row)),),
    )


def _meta(result: SpctResult) -> Table:
    return Table(
        title="Meta RM",
        lead="On votes that it was not trained on.",
        columns=tuple(result.meta),
        rows=(tuple(f"{value:.3f}" for value in result.meta.values()),),
    )


def _stages(result: SpctResult) -> Table:
    total = sum(one.seconds for one in result.stages)
    rows = [
        (one.name, duration(one.seconds), NONE if one.minutes is None else f"{one.minutes:g} min", _standing(one.done))
        for one in result.stages
    ]
    return Table(
        title="Stages",
        lead=f"All commands took {duration(total)}; starting a server is not in it.",
        columns=("stage", "took", "limit of training", ""),
        rows=tuple(rows),
    )


def _standing(done: bool) -> str:
    return "done" if done else "not done"


def _series(one: ModelFigures, name: str) -> str:
    found = one.series.get(name)
    if found is None:
        return NONE
    paper = "" if found.paper is None else f" [{found.paper:.1f}]"
    return f"{_points(found.accuracy)}{paper}"


def _short(one: ModelFigures, name: str) -> str:
    found = one.series.get(name)
    return NONE if found is None else f"{100 * found.accuracy.value:.1f}"


def _points(figure: Figure, *, sign: bool = False) -> str:
    low, value, high = (100 * one for one in (figure.low, figure.value, figure.high))
    if sign:
        return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    return f"{value:.1f} ({low:.1f}–{high:.1f})"


def _paper(gain: GainFigures) -> str:
    return NONE if gain.paper is None else f"{gain.paper:+.1f}"


def _said(series: str) -> str:
    return series.replace(VOTING, "Voting@").replace(META, "MetaRM@")


def _k(series: str) -> int:
    return int(series.rpartition("@")[2])
