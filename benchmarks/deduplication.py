"""Judge calls that de-duplication saves, beside the floor (distinct judged contents), with equal rewards.

    python benchmarks/deduplication.py [--gsm8k FILE] [--prompts 16] [--samples 8]

Two kinds of samples: the four model solutions of every GSM8K test question (where the file is at hand), and a rollout
of the bundled model on sums, ``samples`` per prompt, which this benchmark records first, as a policy in RL would.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.types import Candidate, ChatPrompt, Item, Message, Request, SamplingParams, Verdict
from assay.data import load_items
from assay.engines.catalog import build_engine, engine_config
from assay.judges import build_judge
from assay.scoring.batch import Unit, judge_units, units
from assay.scoring.cache import VerdictCache
from assay.scoring.judgment import Judgment
from assay.scoring.scorer import Scorer

GSM8K = Path(__file__).parents[1] / "../shared/data/gsm8k/example_model_solutions.jsonl"


@dataclass(frozen=True, slots=True)
class Counted:
    """One run over all samples: what every sample got, and the calls that it took."""

    rewards: dict[tuple[str, int | None], tuple[float, ...] | str]
    calls: int


async def judged(work: Sequence[Unit], *, deduplicate: bool) -> Counted:
    rewards: dict[tuple[str, int | None], tuple[float, ...] | str] = {}
    scorer = Scorer(
        build_engine(engine_config("rule", {})),
        cache=VerdictCache() if deduplicate else None,
        deduplicate=deduplicate,
    )

    def keep(judgment: Judgment) -> None:
        outcome = judgment.outcome
        value = (outcome.scores or ()) if isinstance(outcome, Verdict) else str(outcome.kind)
        rewards[(judgment.item.id, judgment.votes[0].candidate)] = value

    await scorer.start()
    await judge_units(scorer, build_judge("math"), work, concurrency=256, deadline_s=600, seed=0, on_judgment=keep)
    await scorer.close()
    return Counted(rewards, scorer.counts.usage.calls)


async def rollout(prompts: int, samples: int) -> list[Item]:
    """Sampled answers of the bundled model to small sums."""
    engine = build_engine(engine_config("embedded", {}))
    await engine.start()
    draw = random.Random(0)
    items: list[Item] = []

    async def one(number: int, a: int, b: int) -> Item:
        messages = (Message(role="user", content=f"What is {a} + {b}? Answer with the number only."),)
        sampling = SamplingParams(temperature=0.7, max_new_tokens=16, seed=number)
        request = Request(id=str(number), prompt=ChatPrompt(messages=messages), n=samples, sampling=sampling)
        answers = await engine.generate(request, Deadline.never())
        texts = tuple(Candidate(text=f"Answer: {answer.text}") for answer in answers)
        return Item(id=str(number), messages=messages, candidates=texts, reference=str(a + b))

    sums = [(number, draw.randint(1, 20), draw.randint(1, 20)) for number in range(prompts)]
    items = list(await asyncio.gather(*(one(*each) for each in sums)))
    await engine.close()
    return items


def row(name: str, items: Sequence[Item]) -> tuple[str, ...]:
    work = [unit for unit in units(build_judge("math"), items) if isinstance(unit, Unit)]
    floor = len({unit.content_hash for unit in work})
    with_it = asyncio.run(judged(work, deduplicate=True))
    without = asyncio.run(judged(work, deduplicate=False))
    share = f"{with_it.calls / len(work):.4f}"
    equal = "equal" if with_it.rewards == without.rewards else "DIFFERENT"
    return name, f"{len(work):,}", f"{floor:,}", f"{floor / len(work):.4f}", f"{with_it.calls:,}", share, equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsm8k", type=Path, default=GSM8K)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    table = Table(title="judge calls with de-duplication and cache, judge math")
    for heading in ("samples of", "samples", "distinct", "floor", "calls", "calls ÷ samples", "rewards without it"):
        table.add_column(heading, justify="right")
    if options.gsm8k.exists():
        table.add_row(*row("GSM8K solutions", load_items(options.gsm8k).items))
    else:
        print(f"GSM8K solutions: skipped, {options.gsm8k} is not there (name it with --gsm8k)")
    rolled = asyncio.run(rollout(options.prompts, options.samples))
    table.add_row(*row("recorded rollout", rolled))
    Console().print(table)


if __name__ == "__main__":
    main()
