import pytest

from assay.report.summary import summarise


def test_one_judge(row):
    rows = [
        row("a", 1, 1, calls=1, prompt_tokens=100, cached_tokens=60, completion_tokens=2, latency_s=1.0, time=10.0),
        row("a", 0, 0, candidate=1, calls=0, cached=True, latency_s=0.0, time=11.0, flags=("clipped",)),
        row("b", outcome="timeout", gold=1, calls=1, reasks=1, latency_s=3.0, time=12.0),
        row("c", outcome="timeout", gold=1, calls=1, latency_s=5.0, time=13.0, mass=0.5),
    ]
    summary = summarise(rows, seconds=2.0)
    (judge,) = summary.judges
    assert (summary.items, summary.judgments, summary.first, summary.last) == (3, 4, 10.0, 13.0)
    assert (judge.judgments, judge.items, judge.verdicts) == (4, 3, 2)
    assert judge.failures == {"timeout": 2}
    assert judge.flags == {"clipped": 1}
    assert judge.usage.saved == 1 / 4
    assert (judge.usage.cached, judge.usage.reasks, judge.usage.prompt_tokens) == (1, 1, 100)
    # 1, 3 and 5 s; the cached one took no time and is left out.
    assert (judge.latency.n, judge.latency.median, judge.latency.p95) == (3, 3.0, pytest.approx(4.8))
    assert (judge.mass.n, judge.mass.low) == (1, 0.5)
    assert judge.accepting.n == 2


def test_a_failure_saves_no_call(row):
    usage = summarise([row(calls=8), row(outcome="timeout", calls=0), row(cached=True)]).judges[0].usage
    assert usage.saved == pytest.approx(1 / 3)


def test_speed_is_of_this_call_only(row):
    rows = [row("old", time=1.0, prompt_tokens=1000), row("new", time=9.0, prompt_tokens=10), row("newer", time=10.0)]
    speed = summarise(rows, seconds=2.0, judged=2).speed
    assert (speed.judgments, speed.prompt_tokens, speed.seconds) == (2, 10, 2.0)
    assert summarise(rows, seconds=2.0).speed.judgments == 3
    assert summarise(rows, seconds=2.0, judged=0).speed is None
    assert summarise(rows).speed is None


def test_several_judges_stand_side_by_side(row):
    rows = [
        row("a", 1, 1, judge="math"),
        row("a", 1, 1, judge="llm", model="m"),
        row("b", outcome="timeout", judge="llm"),
    ]
    summary = summarise(rows)
    assert [(judge.label, judge.judgments) for judge in summary.judges] == [("math", 1), ("llm · m", 2)]
    assert summary.items == 2


def test_groups(row):
    rows = [
        row(
            f"q{i}",
            i % 2,
            1,
            metadata={"topic": "odd" if i % 2 else "even", "id": f"x{i}", "same": 1, "long": "x" * 90},
        )
        for i in range(8)
    ]
    groups = summarise(rows).judges[0].groups
    assert list(groups) == ["topic"]
    assert [(g.value, g.judgments, g.accepting.hits) for g in groups["topic"]] == [("even", 4, 0), ("odd", 4, 4)]


def test_no_rows_at_all():
    summary = summarise([])
    assert (summary.judges, summary.items, summary.first) == ((), 0, None)
