"""A rule before the model: it may say "match", and everything else is the model's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Candidate, Failure, FailureKind, Item, Message, Request, RulePrompt, Verdict
from assay.engines.catalog import build_engine, engine_config
from assay.engines.rule_first import RuleFirst
from assay.judges.verifier import VerifierJudge
from assay.scoring.cache import VerdictCache
from assay.scoring.judgment import Judgment
from assay.scoring.scorer import Scorer

from .doubles import ScriptEngine

FIRST = VerifierJudge(first="math")


def _item(answer: str, reference: str = "1/2") -> Item:
    asked = (Message(role="user", content="How much is left?"),)
    return Item(id="i", messages=asked, candidates=(Candidate(text=f"Answer: {answer}"),), reference=reference)


def _rule(reply: Callable[[RulePrompt], str]) -> ScriptEngine:
    def answer(request: Request) -> str:
        assert isinstance(request.prompt, RulePrompt)
        return reply(request.prompt)

    return ScriptEngine(answer)


def _late(prompt: RulePrompt) -> str:
    raise GenerationError(FailureKind.TIMEOUT, "the rule took too long")


def _judge(scorer: Scorer, judge: VerifierJudge, *items: Item) -> list[Judgment]:
    async def each() -> list[Judgment]:
        return [await scorer.judge(judge, item, Deadline.never()) for item in items]

    return asyncio.run(each())


@pytest.mark.parametrize("choices", [False, True])
@pytest.mark.parametrize("labels", [("1", "0"), ("Yes", "No")])
def test_where_the_rule_finds_a_match_the_model_is_not_asked(choices: bool, labels: tuple[str, str]) -> None:
    model, rule = ScriptEngine(lambda _: labels[1]), _rule(lambda _: "1")
    judge = replace(FIRST, choices=choices, labels=labels)
    (judgment,) = _judge(Scorer(model, rules=rule), judge, _item("0.5"))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == (1.0,)
    assert (len(model.calls), len(rule.calls)) == (0, 1)
    assert judgment.model == rule.info.model


@pytest.mark.parametrize("told", [lambda _: "0", _late], ids=["no match", "no answer"])
@pytest.mark.parametrize(("said", "score"), [("1", 1.0), ("0", 0.0)])
def test_anything_else_is_for_the_model_to_decide(told: Callable[[RulePrompt], str], said: str, score: float) -> None:
    model, rule = ScriptEngine(lambda _: said), _rule(told)
    (judgment,) = _judge(Scorer(model, rules=rule), FIRST, _item("a half"))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == (score,)
    assert (len(model.calls), len(rule.calls)) == (1, 1)
    assert model.calls[0].first is None


def test_the_cache_keeps_what_the_model_said_and_not_what_the_rule_did() -> None:
    model, rule = ScriptEngine(lambda _: "0"), _rule(lambda asked: str(int(asked.arguments["answer"] == "0.5")))
    scorer = Scorer(model, rules=rule, cache=VerdictCache())
    found = _judge(scorer, FIRST, _item("0.5"), _item("0.5"), _item("0.7"), _item("0.7"))
    assert [one.outcome.scores for one in found if isinstance(one.outcome, Verdict)] == [(1.0,), (1.0,), (0.0,), (0.0,)]
    assert len(model.calls) == 1


def test_without_a_rule_engine_it_is_said_and_not_dropped() -> None:
    model = ScriptEngine(lambda _: "1")
    (judgment,) = _judge(Scorer(model), FIRST, _item("0.5"))
    assert isinstance(judgment.outcome, Failure)
    assert judgment.outcome.kind is FailureKind.BAD_REQUEST
    assert "no rule engine is beside the model" in judgment.outcome.detail
    assert not model.calls


def test_with_the_rules_themselves() -> None:
    model = ScriptEngine(lambda _: "0")
    both = RuleFirst(model, build_engine(engine_config("rule", {})))

    async def run() -> list[Judgment]:
        scorer = Scorer(both)
        await scorer.start()
        try:
            items = (_item(r"\frac{1}{2}"), _item("0.5"), _item("0.6"), _item(""))
            return [await scorer.judge(FIRST, item, Deadline.never()) for item in items]
        finally:
            await scorer.close()

    found = asyncio.run(run())
    assert [one.model for one in found] == ["rules", "rules", model.info.model, model.info.model]
