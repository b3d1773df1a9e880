"""Prompt tokens that the votes of one judgment cost, by the orders in which candidates are shown.

    OMP_NUM_THREADS=2 python benchmarks/voting_prefix.py [--items 2] [--k 8] [--words 110]

The embedded engine with the bundled model, the pointwise judge, ``k`` votes of one token each (so that the time is that
of prompts), all asked at once:

- no reuse: every prompt computed in full (one by one, no prefix cache), orders shuffled;
- shuffle, balanced: with the engine's prefix sharing, which keeps beginnings across time and between waiting prompts.

Beside the measured tokens stands what a trie of the prompts says must be computed: each different beginning once (and
of each further equal prompt its last token, for its logits). The last column asks in waves of four, as anytime stopping
does. The time is noisy on a busy machine; the tokens are exact. ``--count`` prints the trie's figures without a model.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.types import Candidate, Completion, Item, Message, Request, SamplingParams
from assay.data.demo import load_demo
from assay.engines.embedded.chat import Renderer
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.engines.embedded.finding import find_model
from assay.judges import build_judge
from assay.judges.base import content_hash
from assay.voting.draws import make_draw
from assay.voting.plan import Orders

CACHE_MB = 2048


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all votes: tokens of the prompts, those computed, and the seconds that it took."""

    asked: int
    computed: int
    seconds: float


def make_item(rng: random.Random, n: int, words: int, index: int) -> Item:
    """Candidates of ``words`` words, give or take a half, put together from the bundled answers."""
    texts = [candidate.text for item in load_demo() for candidate in item.candidates]

    def answer() -> str:
        wanted, said = rng.uniform(0.5, 1.5) * words, ""
        while len(said.split()) < wanted:
            said += rng.choice(texts) + "\n"
        return said

    question = "Work through the following and explain each step:\n" + answer()
    candidates = tuple(Candidate(text=f"{place + 1}{index}: {answer()}") for place in range(n))
    return Item(id=f"{n}-{index}", messages=(Message(role="user", content=question),), candidates=candidates)


def requests_of(item: Item, k: int, orders: Orders) -> list[Request]:
    """One request per vote, with its own seed and order."""
    judge = build_judge("pointwise")
    content = content_hash(judge, item)
    requests: list[Request] = []
    for vote in range(k):
        draw = make_draw(judge.asks, content, item.n, vote=vote, orders=orders)
        sampling = SamplingParams(temperature=0.5, max_new_tokens=1, seed=draw.seed)
        requests += [replace(request, sampling=sampling) for request in judge.plan(item, draw)]
    return requests


async def ask(engine: EmbeddedEngine, requests: Sequence[Request], wave: int) -> Cost:
    """Ask in waves of so many, from an empty cache."""
    await engine.sleep(frozenset({"kv_cache"}))
    await engine.wake(frozenset({"kv_cache"}))
    start = time.perf_counter()
    done: list[Completion] = []
    for at in range(0, len(requests), wave):
        answers = (engine.generate(request, Deadline.never()) for request in requests[at : at + wave])
        done += [completion for (completion,) in await asyncio.gather(*answers)]
    seconds = time.perf_counter() - start
    asked = sum(c.prompt_tokens for c in done)
    return Cost(asked, asked - sum(c.cached_tokens for c in done), seconds)


def trie_size(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens of all prompts with each common beginning counted once."""
    ordered = sorted(prompts)
    total, before = 0, ()
    for prompt in ordered:
        same = next((i for i, (a, b) in enumerate(zip(before, prompt, strict=False)) if a != b), len(before))
        total += len(prompt) - min(same, len(prompt))
        before = prompt
    return total


def plus(costs: Sequence[Cost]) -> Cost:
    return Cost(sum(c.asked for c in costs), sum(c.computed for c in costs), sum(c.seconds for c in costs))


def ids_of(renderer: Renderer, requests: Sequence[Request]) -> list[tuple[int, ...]]:
    return [renderer.ids(request.prompt, {}) for request in requests]


def make_renderer(config: EmbeddedConfig) -> Renderer:
    from transformers import AutoTokenizer

    return Renderer(AutoTokenizer.from_pretrained(str(find_model(config.model))), 1 << 30)


def count(args: argparse.Namespace, console: Console) -> None:
    """What must be computed, by the trie alone."""
    renderer = make_renderer(EmbeddedConfig())
    table = Table(title=f"tokens that a trie of the prompts holds, {args.items} items")
    for name in ("n", "k", "no reuse", "shuffle", "balanced", "balanced / no reuse", "balanced / shuffle"):
        table.add_column(name, justify="right")
    for n in args.candidates:
        rng = random.Random(n)
        items = [make_item(rng, n, args.words, index) for index in range(args.items)]
        for k in (args.k, 2 * args.k):
            full = sum(len(ids) for item in items for ids in ids_of(renderer, requests_of(item, k, "shuffle")))
            shuffle, balanced = (
                sum(trie_size(ids_of(renderer, requests_of(item, k, orders))) for item in items)
                for orders in ("shuffle", "balanced")
            )
            ratios = (f"{balanced / full:.2f}", f"{balanced / shuffle:.2f}")
            table.add_row(str(n), str(k), f"{full:,}", f"{shuffle:,}", f"{balanced:,}", *ratios)
    console.print(table)


async def measure(args: argparse.Namespace, console: Console) -> None:
    bare = EmbeddedEngine(EmbeddedConfig(prefix_cache_mb=0, threads=args.threads))
    engine = EmbeddedEngine(EmbeddedConfig(prefix_cache_mb=CACHE_MB, threads=args.threads))
    await bare.start()
    await engine.start()
    renderer = make_renderer(engine.config)
    table = Table(title=f"k = {args.k}, {args.items} items, sums over the items")
    for name in ("n", "orders", "prompt tokens", "computed", "of no reuse", "trie", "seconds", "computed, waves of 4"):
        table.add_column(name, justify="left" if name == "orders" else "right")
    for n in args.candidates:
        rng = random.Random(n)
        items = [make_item(rng, n, args.words, index) for index in range(args.items)]
        full = plus([await ask(bare, requests_of(item, args.k, "shuffle"), 1) for item in items])
        table.add_row(str(n), "no reuse", f"{full.asked:,}", f"{full.computed:,}", "1", "", f"{full.seconds:.1f}", "")
        found: dict[Orders, int] = {}
        for orders in ("shuffle", "balanced"):
            votes = [requests_of(item, args.k, orders) for item in items]
            cost = plus([await ask(engine, requests, args.k) for requests in votes])
            waves = plus([await ask(engine, requests, 4) for requests in votes])
            ids = [ids_of(renderer, requests) for requests in votes]
            found[orders] = cost.computed
            cells = (f"{cost.asked:,}", f"{cost.computed:,}", f"{cost.computed / full.computed:.2f}")
            table.add_row(
                "", orders, *cells, f"{sum(map(trie_size, ids)):,}", f"{cost.seconds:.1f}", f"{waves.computed:,}"
            )
        console.print(
            f"n = {n}: balanced / no reuse {found['balanced'] / full.computed:.2f}, "
            f"balanced / shuffle {found['balanced'] / found['shuffle']:.2f}"
        )
    console.print(table)
    await bare.close()
    await engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=2)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--words", type=int, default=110, help="words of a candidate")
    parser.add_argument("--candidates", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--count", action="store_true", help="no model: count what must be computed")
    args = parser.parse_args()
    if args.count:
        count(args, Console())
    else:
        asyncio.run(measure(args, Console()))


if __name__ == "__main__":
    main()
