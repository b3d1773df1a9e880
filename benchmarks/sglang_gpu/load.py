"""Throughput: judgments a second through the service, beside the same prompts sent straight to its SGLang server.

The service runs in a process of its own; one client sends all. Rounds of the variants take turns, so that a noisy
machine is noisy for all. Prompts share a long beginning and differ in the rest; none comes twice. Read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from notes import Notes

from assay.core.stats import percentile
from assay.core.types import DEFAULT_SAMPLING, Candidate, ChatPrompt, Draw, Item, Message, Request, SamplingParams
from assay.engines.sglang.body import Facts, make_calls
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.model import ModelFiles
from assay.judges import build_judge
from judges import NO_THINKING

TEXT = """time year people way day man thing woman life child world school state family student group country problem
hand part place case week company system program question work government number night point home water room mother area
money story fact month lot right study book eye job word business issue side kind head house service friend"""
WORDS = TEXT.split()
SHARED_WORDS, OWN_WORDS = 700, 170


@dataclass(frozen=True)
class Variant:
    """Where to send, and the body of prompt number n. ``versus`` names the variant that it is divided by."""

    name: str
    url: str
    body: Callable[[int], dict[str, Any]]
    versus: str | None = None
    metrics: str | None = None
    """Where the tokens of its replies are counted, for a route whose replies do not say."""


@dataclass
class Measured:
    """All rounds of one variant at one concurrency."""

    rates: list[float] = field(default_factory=list[float])
    seconds: list[float] = field(default_factory=list[float])
    statuses: Counter[str] = field(default_factory=Counter[str])
    prompt_tokens: int = 0
    cached_tokens: int = 0


async def load(options: argparse.Namespace, notes: Notes) -> None:
    """Run all variants; the figures go into ``notes``."""
    async with notes.step("everything", 560), served(options) as told:
        notes.figure("service", told["url"])
        timeout = aiohttp.ClientTimeout(total=120)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            variants = make_variants(told["url"], told["engine"], options.max_new_tokens)
            for variant in variants:
                await one_round(session, variant, 8, range(-40, -8), Measured())
            for concurrency in options.concurrency:
                await compare(session, variants, concurrency, options, notes)


async def compare(
    session: aiohttp.ClientSession,
    variants: list[Variant],
    concurrency: int,
    options: argparse.Namespace,
    notes: Notes,
) -> None:
    """Rounds in turns at one concurrency."""
    count, found = concurrency * options.per_place, {variant.name: Measured() for variant in variants}
    async with notes.step(f"load at {concurrency}", options.limit_s):
        number = concurrency * 1_000_000
        for turn in range(options.rounds):
            order = variants[turn % len(variants) :] + variants[: turn % len(variants)]
            for variant in order:
                numbers = range(number, number + count)
                number += count
                await one_round(session, variant, concurrency, numbers, found[variant.name])
                notes.say(f"    {variant.name} at {concurrency}: {found[variant.name].rates[-1]:.1f}/s")
        for variant in variants:
            report(variant, concurrency, found, notes)


def report(variant: Variant, concurrency: int, found: dict[str, Measured], notes: Notes) -> None:
    """One variant's figures."""
    one = found[variant.name]
    title = f"{variant.name}, {concurrency} at once"
    notes.figure(f"{title}: judgments", round(statistics.median(one.rates), 1), "1/s")
    notes.figure(f"{title}: rounds", " ".join(f"{rate:.1f}" for rate in one.rates), "1/s")
    for share in (50, 99):
        notes.figure(f"{title}: p{share}", round(percentile(one.seconds, share) * 1000, 1), "ms")
    if one.prompt_tokens:
        notes.figure(f"{title}: prefix cache hits", round(one.cached_tokens / one.prompt_tokens, 3))
    good = one.statuses["200"] + one.statuses["200 verdict"] + one.statuses["200 failure"]
    notes.check(f"{title}: all answered", good == sum(one.statuses.values()), dict(one.statuses))
    if variant.versus is not None:
        ratio = statistics.median(one.rates) / statistics.median(found[variant.versus].rates)
        notes.figure(f"{title}: ratio to {variant.versus!r}", round(ratio, 3))


async def one_round(
    session: aiohttp.ClientSession, variant: Variant, concurrency: int, numbers: range, found: Measured
) -> None:
    """Send each numbered prompt once, ``concurrency`` at a time."""
    bodies = iter([json.dumps(variant.body(number)).encode() for number in numbers])
    headers = {"Content-Type": "application/json"}

    async def place() -> None:
        for body in bodies:
            began = time.perf_counter()
            async with session.post(variant.url, data=body, headers=headers) as response:
                text = await response.read()
            found.seconds.append(time.perf_counter() - began)
            note(found, response.status, json.loads(text))

    before = await counted(session, variant)
    began = time.perf_counter()
    await asyncio.gather(*(place() for _ in range(concurrency)))
    found.rates.append(len(numbers) / (time.perf_counter() - began))
    after = await counted(session, variant)
    found.prompt_tokens += after[0] - before[0]
    found.cached_tokens += after[1] - before[1]


async def counted(session: aiohttp.ClientSession, variant: Variant) -> tuple[int, int]:
    """Prompt tokens and cached ones that the service has counted so far; zeros for a route whose replies say it."""
    if variant.metrics is None:
        return 0, 0
    async with session.get(variant.metrics) as response:
        told = (await response.json())["generations"]
    return told["prompt_tokens"], told["cached_tokens"]


def note(found: Measured, status: int, reply: dict[str, Any]) -> None:
    """Count one reply, of whichever route."""
    kind = next((word for word in ("verdict", "failure") if reply.get(word) is not None), "")
    if kind == "failure" and reply["failure"]["kind"] not in ("parse_error", "truncated"):
        kind = str(reply["failure"]["kind"])
    found.statuses[f"{status} {kind}".strip()] += 1
    judged = reply.get("verdict") or reply.get("failure") or {}
    usage = reply.get("usage") or judged.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    found.prompt_tokens += usage.get("prompt_tokens") or 0
    found.cached_tokens += details.get("cached_tokens") or usage.get("cached_tokens") or 0


def make_variants(service: str, engine: str, max_new_tokens: int) -> list[Variant]:
    """The same prompts by two routes each: raw chats, and the pointwise judge's prompts."""
    shared = words(random.Random(1), SHARED_WORDS)
    judge = build_judge("pointwise")
    config = SGLangConfig(model="-", reasoning_parser="qwen3")
    files = ModelFiles(path=Path(), config={}, vocab_size=1, max_positions=None, weight_bytes=0, poison=())
    facts = Facts(files=files, context_len=None, images=False)
    sampling = SamplingParams(max_new_tokens=max_new_tokens, temperature=1.0, chat_template_kwargs=NO_THINKING)

    def straight(request: Request) -> dict[str, Any]:
        (call,) = make_calls(request, sampling.over(DEFAULT_SAMPLING), config, facts)
        return dict(call.body)

    def messages(number: int) -> tuple[Message, ...]:
        return (Message(role="user", content=f"{shared} {words(random.Random(number), OWN_WORDS)}"),)

    def raw(number: int) -> dict[str, Any]:
        return straight(Request(id="r", prompt=ChatPrompt(messages=messages(number))))

    def generate(number: int) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": messages(number)[0].content}]}

    def item(number: int) -> dict[str, Any]:
        return {"prompt": shared, "candidates": [words(random.Random(number), OWN_WORDS)]}

    def judged(number: int) -> dict[str, Any]:
        one = item(number)
        whole = Item(
            id="i",
            messages=(Message(role="user", content=one["prompt"]),),
            candidates=(Candidate(text=one["candidates"][0]),),
        )
        (request,) = judge.plan(whole, Draw(vote=0, seed=number & 0x7FFFFFFF, order=(0,)))
        return straight(request)

    def score(number: int) -> dict[str, Any]:
        return {"judge": "pointwise", "item": item(number)}

    chat = f"{engine}/v1/chat/completions"
    return [
        Variant("straight, chat", chat, raw),
        Variant("/generate", f"{service}/generate", generate, versus="straight, chat", metrics=f"{service}/metrics"),
        Variant("straight, judge's prompt", chat, judged),
        Variant("/score", f"{service}/score", score, versus="straight, judge's prompt"),
    ]


def words(draws: random.Random, count: int) -> str:
    """So many words, about as many tokens."""
    return " ".join(draws.choices(WORDS, k=count))


@asynccontextmanager
async def served(options: argparse.Namespace) -> AsyncGenerator[dict[str, str]]:
    """The service in a process of its own; gives what it says when it is ready."""
    command = [sys.executable, str(Path(__file__).with_name("served.py")), "--model", options.model]
    command += ["--max-new-tokens", str(options.max_new_tokens), "--arguments", json.dumps(options.arguments)]
    command += ["--max-context-len", str(options.max_context_len)]
    command += [] if options.python is None else ["--python", options.python]
    command += [] if options.python_path is None else ["--python-path", options.python_path]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        if not line:
            raise AssertionError("the service ended before it was ready; its log is above")
        yield json.loads(line)
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 40)
        except TimeoutError:
            process.kill()
            await process.wait()
