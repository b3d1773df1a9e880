"""What reads no model: exact match, math-verify as it comes, and the rule that the verifier may ask first.

A rule that is asked first must never call a wrong answer equal: its verdict stands. ``said_equal`` counts how often
each does, by what is wrong with the answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Draw, Item, Request, RulePrompt
from assay.engines.rule.config import RuleConfig
from assay.engines.rule.engine import RuleEngine
from assay.judges.extract import final_answer
from assay.judges.verifier import VerifierJudge

from .sets import Measured

_PLAIN = Draw(vote=0, seed=0, order=(0,))


def exact(items: Sequence[Item]) -> list[float | None]:
    """1 where the final answer is the reference, letter by letter."""
    return [float(final_answer(item.candidates[0].text) == (item.reference or "").strip()) for item in items]


def by_math_verify(items: Sequence[Item]) -> list[float | None]:
    """1 where math-verify, left to find the expressions itself, finds both equal. It needs the main thread."""
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    found: list[float | None] = []
    for item in items:
        gold, answer = parse(item.reference or ""), parse(final_answer(item.candidates[0].text))
        found.append(float(verify(gold, answer)))
    return found


async def by_rule(items: Sequence[Item], *, whole: bool = True) -> list[float | None]:
    """What the rule says that ``first: math`` asks; None where it ran out of time or memory.

    ``whole`` False: also of answers with words around them, as the judge ``math`` has it.
    """
    judge = VerifierJudge(first="math")
    firsts = [judge.plan(item, _PLAIN)[0].first for item in items]
    rules = [
        None if one is None else replace(one.rule, arguments={**one.rule.arguments, "whole": whole}) for one in firsts
    ]
    prompts = {json.dumps(one.arguments): one for one in rules if one is not None}
    engine = RuleEngine(RuleConfig())
    await engine.start()
    try:
        said = await asyncio.gather(*(_said(engine, prompt) for prompt in prompts.values()))
        told = dict(zip(prompts, said, strict=True))
    finally:
        await engine.close()
    return [None if one is None else told[json.dumps(one.arguments)] for one in rules]


async def _said(engine: RuleEngine, prompt: RulePrompt) -> float | None:
    try:
        (done,) = await engine.generate(Request(id="rule", prompt=prompt), Deadline.never())
    except GenerationError:
        return None
    return float(done.text)


def said_equal(measured: Sequence[Measured]) -> dict[str, Any]:
    """How many answers there are, how many each of the four calls equal, and how many the rule did not answer."""
    items = [one.item for one in measured]
    told = {
        "exact": exact(items),
        "math-verify": by_math_verify(items),
        "math": asyncio.run(by_rule(items, whole=False)),
        "first": asyncio.run(by_rule(items)),
    }
    said = {name: sum(verdict == 1 for verdict in each) for name, each in told.items()}
    return {"n": len(items), **said, "no_answer": told["first"].count(None)}


def groups(held: Sequence[Measured], others: Mapping[str, Sequence[Measured]]) -> dict[str, list[Measured]]:
    """What the table counts: right answers, near misses, their kinds, and the ``others``, which are all wrong."""
    right = [one for one in held if one.item.gold == (1.0,)]
    wrong = [one for one in held if one.item.gold == (0.0,)]
    found = {"right, written otherwise": right, "near misses": wrong}
    found |= {name: list(each) for name, each in others.items()}
    for kind in sorted({one.kind for one in wrong}):
        found[f"near misses: {kind}"] = [one for one in wrong if one.kind == kind]
    return found
