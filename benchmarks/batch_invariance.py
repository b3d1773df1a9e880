"""What the embedded engine's batch-invariant mode costs when votes are drawn, and what it gives.

    OMP_NUM_THREADS=2 python benchmarks/batch_invariance.py [--items 4] [--k 8] [--tokens 24]

The same votes of the pointwise judge with the bundled model, with the mode off and on: time, and the share of votes
with the same text when an item is judged alone and when all are judged at once. Wall time is noisy on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.types import Item, SamplingParams
from assay.data.demo import load_demo
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.judges import build_judge
from assay.scoring.judgment import Judgment
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan


async def judged(items: Sequence[Item], k: int, tokens: int, *, invariant: bool) -> tuple[float, float, float, int]:
    """Seconds on the wall and of the CPU for all items at once, the share of texts equal to those alone, all tokens."""
    judge, plan = build_judge("pointwise"), VotePlan(k=k, orders="balanced")
    scorer = Scorer(
        EmbeddedEngine(EmbeddedConfig(device="cpu", batch_invariant=invariant, max_batch=len(items) * k)),
        sampling=SamplingParams(max_new_tokens=tokens),
        reask=0,
        deduplicate=False,
    )
    await scorer.start()

    async def one(item: Item) -> Judgment:
        return await scorer.judge(judge, item, Deadline.never(), plan=plan)

    alone = [await one(item) for item in items]
    begin = time.perf_counter(), time.process_time()
    together = await asyncio.gather(*map(one, items))
    wall, own = time.perf_counter() - begin[0], time.process_time() - begin[1]
    await scorer.close()
    texts = [[vote.outcome.text for judgment in made for vote in judgment.votes] for made in (alone, together)]
    equal = sum(a == b for a, b in zip(*texts, strict=True)) / len(texts[0])
    return wall, own, equal, sum(judgment.usage.completion_tokens for judgment in together)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=4)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=24)
    options = parser.parse_args()
    items = load_demo()[: options.items]
    table = Table(title=f"{options.items} items x k = {options.k}, at most {options.tokens} tokens a vote")
    for heading in ("batch-invariant", "wall s", "CPU s", "tokens written", "tokens/s", "equal to alone"):
        table.add_column(heading, justify="right")
    times: list[tuple[float, float]] = []
    for invariant in (False, True):
        wall, own, equal, tokens = asyncio.run(judged(items, options.k, options.tokens, invariant=invariant))
        times.append((wall, own))
        name = "on" if invariant else "off"
        table.add_row(name, f"{wall:.1f}", f"{own:.1f}", f"{tokens:,}", f"{tokens / wall:.1f}", f"{equal:.1%}")
    console = Console(highlight=False)
    console.print(table)
    by_wall, by_cpu = (on / off for off, on in zip(*times, strict=True))
    console.print(f"slowdown {by_wall:.2f} on the wall (if the machine is not busy), {by_cpu:.2f} by CPU time")


if __name__ == "__main__":
    main()
