"""Every fault of the fake engine at once: each judgment ends in one typed outcome, and in the same one again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from assay.core.deadline import Deadline
from assay.core.types import Candidate, Failure, FailureKind, Item, Message
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.scoring.scorer import Scorer

FAULTS = {
    "latency": 0.03,
    "error_502": 0.03,
    "overloaded": 0.03,
    "truncated": 0.03,
    "empty": 0.03,
    "garbage": 0.03,
    "hang": 0.02,
}
N = 2000


def outcomes(order: list[int]) -> list[str]:
    """The outcome of every question, judged in ``order``, 256 at a time."""
    found: dict[int, str] = {}

    async def run() -> None:
        engine = FakeEngine(FakeConfig(replies=("1",), faults=FAULTS, seed=5, slow_s=0.01))
        scorer = Scorer(engine, reask=0)
        judge = build_judge("verifier")
        todo = iter(order)

        async def worker() -> None:
            for n in todo:
                item = Item(
                    id=str(n),
                    messages=(Message(role="user", content=f"{n} + 1?"),),
                    candidates=(Candidate(text=f"Answer: {n + 1}"),),
                    reference=str(n + 1),
                )
                outcome = (await scorer.judge(judge, item, Deadline.after(1.5))).outcome
                found[n] = str(outcome.kind) if isinstance(outcome, Failure) else f"verdict {outcome.scores}"

        await asyncio.gather(*(worker() for _ in range(256)))

    asyncio.run(run())
    return [found[n] for n in range(N)]


def test_two_thousand_judgments_with_a_fifth_of_faults() -> None:
    order = list(range(N))
    first = outcomes(order)
    random.Random(0).shuffle(order)
    assert first == outcomes(order)
    counted = Counter(first)
    assert sum(counted.values()) == N
    assert set(counted) == {
        "verdict (1.0,)",
        FailureKind.ENGINE_ERROR,
        FailureKind.OVERLOADED,
        FailureKind.TRUNCATED,
        FailureKind.PARSE_ERROR,
        FailureKind.TIMEOUT,
    }
    # 17 % of 2,000 calls fail for sure (latency alone does not): 340, standard deviation 17.
    assert 270 < N - counted["verdict (1.0,)"] < 410
