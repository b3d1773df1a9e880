from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.placement.simulate import Stage, lengths, simulate
from assay.placement.speed import EngineSpeed


def stage(work: list[tuple[float, int]], *, gpus: tuple[tuple[int, ...], ...] = ((0,),), **speed: float) -> Stage:
    told = {"base": 0.01, "each": 0.0, "prefill": 0.0, **speed}
    most = int(told.pop("most", 256))
    return Stage(name="s", engines=gpus, speed=EngineSpeed(most=most, **told), work=tuple(work))


def test_requests_of_one_length_end_together() -> None:
    run = simulate([stage([(0, 100)] * 8)], follow=True)
    assert run.end == pytest.approx(1.0)
    assert run.gpu_busy == {0: pytest.approx(1.0)}


def test_the_rest_goes_faster_when_others_have_ended() -> None:
    """Two run 10 steps of 3 ms, one runs 10 more of 2 ms."""
    run = simulate([stage([(0, 10), (0, 20)], base=0.001, each=0.001)], follow=True)
    assert run.end == pytest.approx(10 * 0.003 + 10 * 0.002)


def test_what_cannot_run_waits() -> None:
    run = simulate([stage([(0, 100)] * 3, most=1)], follow=True)
    assert run.end == pytest.approx(3.0)


def test_reading_a_prompt_stops_the_others() -> None:
    """50 tokens each at 10 ms; two prompts of 100 tokens at 1 ms are read first."""
    run = simulate([stage([(100, 50)] * 2, prefill=0.001)], follow=True)
    assert run.end == pytest.approx(0.2 + 0.5)


def test_the_host_bounds_short_prompts() -> None:
    run = simulate([stage([(1, 50)] * 2, prefill=0.001, request=0.05)], follow=True)
    assert run.end == pytest.approx(0.1 + 0.5)


def test_judging_overlaps_the_rollout() -> None:
    """Samples end at 0.1 and 1.0 s; the judge takes 0.2 s for each and is free when the second comes."""
    run = simulate([stage([(0, 10), (0, 100)]), stage([(0, 20)] * 2, gpus=((1,),))], follow=True)
    assert run.ends == (pytest.approx(1.0), pytest.approx(1.2))
    judge = run.engines[-1]
    assert (judge.start, judge.end, judge.busy) == (pytest.approx(0.1), pytest.approx(1.2), pytest.approx(0.4))


def test_several_requests_follow_from_each_sample() -> None:
    run = simulate([stage([(0, 10)] * 2), stage([(0, 20)] * 6, gpus=((1,),), most=1)], follow=True)
    assert run.ends[1] == pytest.approx(0.1 + 6 * 0.2)


def test_engines_on_one_card_slow_each_other_as_far_as_both_need_it() -> None:
    alone = stage([(0, 100)])
    both = simulate([alone, alone], follow=False)
    assert both.ends == (pytest.approx(2.0), pytest.approx(2.0))
    half = stage([(0, 100)], gpu=0.5)
    assert simulate([half, half], follow=False).end == pytest.approx(1.25)
    assert simulate([alone, stage([(0, 100)], gpus=((1,),))], follow=False).end == pytest.approx(1.0)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=1, max_size=30),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_everything_ends_and_no_engine_is_busier_than_the_clock(
    work: list[tuple[int, int]], engines: int, most: int
) -> None:
    gpus = tuple((gpu,) for gpu in range(engines))
    first = stage([(read, size) for read, size in work], gpus=gpus, prefill=0.001, each=0.001, most=most)
    judges = stage([(5, 7)] * len(work), gpus=((0,), (9,)), prefill=0.001, most=most)
    run = simulate([first, judges], follow=True)
    tokens = sum(size for _, size in work)
    assert run.end >= max(size for _, size in work) * 0.01
    assert run.end <= 2 * (tokens + 7 * len(work)) * 0.02 + 2 * sum(read + 5 for read, _ in work) * 0.001
    for one in run.engines:
        assert one.busy <= one.end - one.start + 1e-9
    assert max(run.gpu_busy.values()) <= run.end + 1e-9


def test_lengths_have_their_mean_and_their_spread() -> None:
    sizes = lengths(4096, 1000, 0.5)
    assert statistics.mean(sizes) == pytest.approx(1000, rel=0.01)
    assert statistics.pstdev(sizes) / 1000 == pytest.approx(0.5, rel=0.05)
    assert max(lengths(4096, 1000, 0.5, 2000)) == 2000
    assert lengths(3, 1000, 0.0) == (1000,) * 3
    # Long ones are scattered: no quarter of the batch has much more than its share.
    quarters = [sum(sizes[i : i + 1024]) for i in range(0, 4096, 1024)]
    assert max(quarters) / min(quarters) < 1.05
