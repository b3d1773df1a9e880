"""The same sets by what users run: the product's scorer, prompts and parsers over the embedded engine, in one process.

Goes on where it stopped: what the engine said is kept in ``verdicts.sqlite``, keyed by model, adapter, prompt and draw.
Each set is judged by the model with its adapter, by exact match, by math-verify, by the rule that ``first: math`` asks,
and by rule and judge as that joins them; the base model is asked about the first ``--base`` items. Pairs: greedy in
both orders, and eight votes.

``verdict``: read off the log-probs of the labels (``choices``) in one forward pass. ``written``: the judge as it is by
default, which writes its label, behind whatever its adapter was trained to write before. ``forms``: the same, with the
prompt that asks for normal forms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from assay.core.deadline import Deadline
from assay.core.types import Item, SamplingParams, Verdict
from assay.engines.embedded.config import NO_ADAPTER, EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.judges import Judge
from assay.judges.pointwise import PointwiseJudge
from assay.judges.probes import swapped
from assay.judges.verifier import VerifierJudge
from assay.scoring.cache import VerdictCache
from assay.scoring.reasking import REASK
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan

from . import sets
from .figures import answered, either, summary
from .pairs import TEMPERATURE, VOTES, rates
from .rules import by_math_verify, by_rule, exact
from .sets import Measured

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

IN_FLIGHT = 256
"""Judgments asked for at a time; the engine's own ``max_batch`` says how many it computes together."""
NEW_TOKENS = {"verdict": 8, "written": 128, "forms": 128, "pointwise": 200}
VERIFIERS = {"verdict": {"choices": True}, "written": {}, "forms": {"forms": True}}
"""The options of the verifier in each mode."""
FIXED = VotePlan(k=1, orders="fixed")


def engine(options: argparse.Namespace, verified: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """The results of all sets; what is not judged yet is judged."""
    options.out.mkdir(parents=True, exist_ok=True)
    cache = VerdictCache(options.out / "verdicts.sqlite")
    try:
        return asyncio.run(_measured(options, verified, cache))
    finally:
        cache.close()


async def _measured(
    options: argparse.Namespace, verified: Mapping[str, Sequence[Measured]], cache: VerdictCache
) -> dict[str, Any]:
    results: dict[str, Any] = {}
    ruled: dict[str, list[float | None]] = {}
    for name, measured in verified.items():
        items = [one.item for one in measured]
        ruled[name] = await by_rule(items)
        results[f"{name}: exact match"] = summary(answered(measured, exact(items)))
        results[f"{name}: math-verify"] = summary(answered(measured, by_math_verify(items)))
        results[f"{name}: rule first"] = summary(answered(measured, ruled[name]))
    async with _asking(options, str(options.adapter or NO_ADAPTER), cache) as asking:
        for mode in [mode for mode in options.modes if mode != "pointwise"]:
            for name, measured in verified.items():
                results |= await _by_judge(asking, mode, name, measured, ruled[name])
        if "pointwise" in options.modes and options.pairs:
            results["pairs"] = await _pairs(asking, [one.item for one in sets.pairs(options.pairs)])
    if options.base:
        async with _asking(options, NO_ADAPTER, cache) as asking:
            for name in [name for name in ("iid", "held") if name in verified]:
                measured = verified[name][: options.base]
                said = _first(await asking.ask(VerifierJudge(choices=True), measured, "verdict"))
                results[f"{name}: base model"] = summary(answered(measured, said))
    return results


async def _by_judge(
    asking: Asking, mode: str, name: str, measured: Sequence[Measured], ruled: Sequence[float | None]
) -> dict[str, Any]:
    judge = VerifierJudge(**VERIFIERS[mode])
    said = _first(await asking.ask(judge, measured, mode))
    named = name if mode == "verdict" else f"{name}, {mode}"
    found = {**summary(answered(measured, said)), "cpu_s_per_verdict": asking.cpu_s}
    each = "-" if asking.cpu_s is None else f"{asking.cpu_s:.3f}"
    print(f"{named}: {json.dumps(found['all'])}, {each} CPU s a verdict", flush=True)
    return {named: found, f"{named}: rule, then judge": summary(answered(measured, either(ruled, said)))}


async def _pairs(asking: Asking, items: Sequence[Item]) -> dict[str, Any]:
    judge = PointwiseJudge()
    found: dict[str, Any] = {}
    for name, shown in (("greedy", items), ("swapped", [swapped(item) for item in items])):
        found[name] = rates(shown, await asking.judged(judge, shown, "pointwise", plan=FIXED))
    votes = await asking.judged(judge, items, "pointwise", plan=VotePlan(k=VOTES), temperature=TEMPERATURE)
    found[f"vote {VOTES}"] = rates(items, votes)
    return found


class Asking:
    """One engine, asked through scorers. ``cpu_s``: of the last set, CPU seconds for each verdict that was computed."""

    def __init__(self, engine: EmbeddedEngine, cache: VerdictCache) -> None:
        self.cpu_s: float | None = None
        self._engine = engine
        self._cache = cache

    async def ask(self, judge: Judge, measured: Sequence[Measured], mode: str) -> list[tuple[float, ...] | None]:
        """The scores of each item, greedily; None where no verdict was read."""
        return await self.judged(judge, [one.item for one in measured], mode)

    async def judged(
        self, judge: Judge, items: Sequence[Item], mode: str, *, plan: VotePlan | None = None, temperature: float = 0.0
    ) -> list[tuple[float, ...] | None]:
        """The same under a plan of votes."""
        sampling = SamplingParams(temperature=temperature, max_new_tokens=NEW_TOKENS[mode])
        # Asked again greedily, the model says the same again.
        again = REASK if temperature else 0
        scorer = Scorer(self._engine, sampling=sampling, cache=self._cache, reask=again)
        places = asyncio.Semaphore(IN_FLIGHT)

        async def scores(item: Item) -> tuple[float, ...] | None:
            async with places:
                outcome = (await scorer.judge(judge, item, Deadline.never(), plan=plan)).outcome
            return outcome.scores if isinstance(outcome, Verdict) else None

        computed, begun = await self._computed(), time.process_time()
        found = await asyncio.gather(*map(scores, items))
        computed = await self._computed() - computed
        self.cpu_s = (time.process_time() - begun) / computed if computed else None
        return found

    async def _computed(self) -> int:
        requests = (await self._engine.health()).detail["requests"]
        assert isinstance(requests, int)
        return requests


@asynccontextmanager
async def _asking(options: argparse.Namespace, adapter: str, cache: VerdictCache) -> AsyncGenerator[Asking]:
    config = EmbeddedConfig(
        model=options.model, adapter=adapter, device="cpu", threads=options.threads, max_batch=options.max_batch
    )
    engine = EmbeddedEngine(config)
    try:
        await engine.start()
        yield Asking(engine, cache)
    finally:
        await engine.close()


def _first(found: Sequence[tuple[float, ...] | None]) -> list[float | None]:
    return [None if scores is None else scores[0] for scores in found]
