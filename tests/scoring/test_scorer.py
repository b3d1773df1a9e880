from __future__ import annotations

import asyncio

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError
from assay.core.types import Failure, FailureKind, SamplingParams, Verdict
from assay.judges import build_judge
from assay.scoring.cache import VerdictCache
from assay.scoring.judgment import Judgment
from assay.scoring.scorer import Scorer

from .doubles import DigitJudge, ScriptEngine, item, prompt_of

NEVER = Deadline.never()


def run(scorer: Scorer, *items: object, judge: DigitJudge | None = None) -> list[Judgment]:
    async def all_of_them() -> list[Judgment]:
        return list(await asyncio.gather(*(scorer.judge(judge or DigitJudge(), i, NEVER) for i in items)))  # type: ignore[arg-type]

    return asyncio.run(all_of_them())


def score_words(request: object) -> str:
    """Each candidate is a digit word; the engine says its digit."""
    return "".join({"one": "1", "two": "2", "six": "6"}[w] for w in prompt_of(request).split())  # type: ignore[arg-type]


def test_scores_come_back_in_the_items_own_order() -> None:
    for id in range(20):
        engine = ScriptEngine(score_words)
        (judgment,) = run(Scorer(engine), item("one", "two", "six", id=str(id)))
        assert judgment.outcome == Verdict(scores=(1.0, 2.0, 6.0), text=judgment.outcome.text)
        assert judgment.usage.calls == 1


def test_equal_judgments_in_flight_cost_one_call() -> None:
    engine = ScriptEngine(score_words, latency_s=0.02)
    judgments = run(Scorer(engine), *(item("one", id=str(n)) for n in range(10)), item("two"))
    assert len(engine.calls) == 2
    assert sum(j.usage.calls for j in judgments) == 2
    assert sum(j.cached for j in judgments) == 9
    assert {j.outcome.scores for j in judgments if isinstance(j.outcome, Verdict)} == {(1.0,), (2.0,)}
    assert [j.item.id for j in judgments[:10]] == [str(n) for n in range(10)]


def test_without_deduplication_the_verdicts_are_the_same() -> None:
    engine = ScriptEngine(lambda r: str((r.sampling.seed or 0) % 10), latency_s=0.01)
    words = ["one", "two", "one", "six", "one"]
    with_it = run(Scorer(engine), *(item(w) for w in words))
    without = run(Scorer(engine, deduplicate=False), *(item(w) for w in words))
    assert [j.outcome for j in with_it] == [j.outcome for j in without]
    assert len(engine.calls) == 3 + 5


def test_the_cache_answers_later_and_other_weights_are_another_entry(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "verdicts.sqlite"
    engine = ScriptEngine(score_words)
    cache = VerdictCache(path)
    (first,) = run(Scorer(engine, cache=cache), item("one", "six"))
    cache.close()
    cache = VerdictCache(path)
    (second,) = run(Scorer(engine, cache=cache), item("one", "six", id="other"))
    assert (first.outcome, first.cached, second.outcome, second.cached) == (first.outcome, False, first.outcome, True)
    assert second.usage.calls == 0
    engine.weight_version = "2"
    (third,) = run(Scorer(engine, cache=cache), item("one", "six"))
    assert not third.cached
    (fourth,) = run(Scorer(engine, cache=cache, sampling=SamplingParams(temperature=0.9)), item("one", "six"))
    assert not fourth.cached
    cache.close()


def test_a_text_without_a_verdict_is_asked_again_with_another_seed() -> None:
    engine = ScriptEngine(lambda _: "?" if len(engine.calls) == 1 else "7")
    (judgment,) = run(Scorer(engine), item("one"))
    assert judgment.outcome == Verdict(scores=(7.0,), text="7")
    assert (judgment.reasks, judgment.usage.calls) == (1, 2)
    assert engine.calls[0].sampling.seed != engine.calls[1].sampling.seed


def test_reasking_is_bounded_and_the_failure_keeps_its_text() -> None:
    engine = ScriptEngine(lambda _: "hm")
    (judgment,) = run(Scorer(engine, reask=2), item("one"))
    assert judgment.outcome == Failure(kind=FailureKind.PARSE_ERROR, detail="no digits in 'hm'", text="hm")
    assert len(engine.calls) == 3


def test_greedy_and_choices_are_not_asked_again() -> None:
    engine = ScriptEngine(lambda _: "hm")
    run(Scorer(engine, sampling=SamplingParams(temperature=0.0)), item("one"))
    run(Scorer(engine), item("one"), judge=DigitJudge(choices=("1", "0")))
    assert len(engine.calls) == 2


def test_failures_are_not_cached() -> None:
    cache = VerdictCache()
    engine = ScriptEngine(lambda _: "hm")
    scorer = Scorer(engine, cache=cache, reask=0)
    run(scorer, item("one"))
    engine.reply = lambda _: "3"
    (judgment,) = run(Scorer(engine, cache=cache), item("one"))
    assert judgment.ok


@pytest.mark.parametrize("kind", [FailureKind.OVERLOADED, FailureKind.CONTEXT_OVERFLOW, FailureKind.ASLEEP])
def test_an_engines_error_is_the_failure_it_names(kind: FailureKind) -> None:
    engine = ScriptEngine(score_words, error=GenerationError(kind, "because"))
    (judgment,) = run(Scorer(engine), item("one"))
    assert judgment.outcome == Failure(kind=kind, detail="because")


def test_an_unexpected_exception_costs_one_judgment() -> None:
    engine = ScriptEngine(score_words, error=ZeroDivisionError("oops"))
    (judgment,) = run(Scorer(engine), item("one"))
    assert judgment.outcome == Failure(kind=FailureKind.ENGINE_ERROR, detail="ZeroDivisionError: oops")


def test_the_deadline_covers_the_wait_for_an_equal_judgment() -> None:
    async def scenario() -> tuple[Judgment, Judgment]:
        scorer = Scorer(ScriptEngine(score_words, latency_s=0.15))
        first = asyncio.create_task(scorer.judge(DigitJudge(), item("one"), NEVER))
        second = asyncio.create_task(scorer.judge(DigitJudge(), item("one"), Deadline.after(0.05)))
        return await first, await second

    first, second = asyncio.run(scenario())
    assert first.ok
    assert isinstance(second.outcome, Failure)
    assert second.outcome.kind is FailureKind.TIMEOUT


def test_a_joined_call_that_timed_out_for_another_is_made_anew_for_us() -> None:
    async def scenario() -> tuple[Judgment, Judgment, int]:
        engine = ScriptEngine(score_words, latency_s=0.1)
        scorer = Scorer(engine)
        hasty = asyncio.create_task(scorer.judge(DigitJudge(), item("one"), Deadline.after(0.03)))
        await asyncio.sleep(0.01)
        patient = asyncio.create_task(scorer.judge(DigitJudge(), item("one"), NEVER))
        return await hasty, await patient, len(engine.calls)

    hasty, patient, calls = asyncio.run(scenario())
    assert not hasty.ok
    assert patient.ok
    assert calls == 2


def test_leaving_aborts_the_call_unless_somebody_else_waits() -> None:
    async def scenario(both_leave: bool) -> tuple[int, bool]:
        engine = ScriptEngine(score_words, latency_s=0.1)
        scorer = Scorer(engine)
        tasks = [asyncio.create_task(scorer.judge(DigitJudge(), item("one"), NEVER)) for _ in range(2)]
        await asyncio.sleep(0.02)
        tasks[0].cancel()
        if both_leave:
            tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        return engine.aborted, isinstance(results[1], Judgment) and results[1].ok

    assert asyncio.run(scenario(both_leave=False)) == (0, True)
    assert asyncio.run(scenario(both_leave=True)) == (1, False)


def test_a_judge_of_single_candidates_is_asked_once_per_candidate() -> None:
    engine = ScriptEngine(score_words)
    (judgment,) = run(Scorer(engine), item("one", "six", "one"), judge=DigitJudge(per_candidate=True))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == (1.0, 6.0, 1.0)
    assert len(engine.calls) == 2
    assert len(judgment.votes) == 3


def test_one_failed_candidate_fails_the_item_and_is_named() -> None:
    engine = ScriptEngine(lambda r: "?" if "six" in prompt_of(r) else "1")
    (judgment,) = run(Scorer(engine), item("one", "six"), judge=DigitJudge(per_candidate=True))
    assert isinstance(judgment.outcome, Failure)
    assert judgment.outcome.kind is FailureKind.PARSE_ERROR
    assert "candidate 2 of 2" in judgment.outcome.detail
    assert isinstance(judgment.votes[0].outcome, Verdict)


def test_an_item_the_judge_cannot_take_is_the_callers_error() -> None:
    with pytest.raises(InputError, match="reference is empty"):
        run(Scorer(ScriptEngine(score_words)), item("one", reference=""))


def test_counts() -> None:
    engine = ScriptEngine(lambda r: "?" if "six" in prompt_of(r) else "1", latency_s=0.01)
    scorer = Scorer(engine, reask=0)
    run(scorer, item("one"), item("one"), item("six"))
    snapshot = scorer.counts.snapshot()
    assert (snapshot["judgments"], snapshot["verdicts"], snapshot["failures"]) == (3, 2, {"parse_error": 1})
    assert (snapshot["calls"], snapshot["cached"], snapshot["running"]) == (2, 1, 0)


def test_weights_that_change_in_the_middle_of_a_call_are_recorded_as_they_were() -> None:
    engine = ScriptEngine(score_words, latency_s=0.03)
    cache = VerdictCache()

    async def scenario() -> Judgment:
        task = asyncio.create_task(Scorer(engine, cache=cache).judge(DigitJudge(), item("one"), NEVER))
        await asyncio.sleep(0.01)
        engine.weight_version = "2"
        return await task

    judgment = asyncio.run(scenario())
    assert judgment.weight_version == "2"
    engine.weight_version = "1"
    (again,) = run(Scorer(engine, cache=cache), item("one"))
    assert not again.cached


def test_another_parser_reads_the_same_texts() -> None:
    strict, lenient = build_judge("pointwise"), build_judge("pointwise", lenient=True)
    assert strict.identity != lenient.identity
    assert strict.asks == lenient.asks
    engine = ScriptEngine(lambda _: "Scores: \\boxed{7; 5}")
    cache = VerdictCache()

    async def both() -> tuple[Judgment, Judgment]:
        scorer = Scorer(engine, cache=cache, reask=0, sampling=SamplingParams(temperature=0.0))
        two = item("a", "b")
        return tuple(await asyncio.gather(*(scorer.judge(j, two, NEVER) for j in (strict, lenient))))  # type: ignore[return-value]

    first, second = asyncio.run(both())
    assert not first.ok
    assert second.ok
    assert first.votes[0].draw == second.votes[0].draw
    assert len(engine.calls) == 1


def test_a_reply_that_was_asked_for_again_is_found_again() -> None:
    cache = VerdictCache()
    engine = ScriptEngine(lambda _: "?" if len(engine.calls) == 1 else "7")
    run(Scorer(engine, cache=cache), item("one"))
    (again,) = run(Scorer(engine, cache=cache), item("one"))
    assert (again.cached, again.reasks) == (True, 1)
    (other,) = run(Scorer(engine, cache=cache, reask=0), item("one"))
    assert not other.cached
