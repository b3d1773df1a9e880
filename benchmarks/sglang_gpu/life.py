"""The life of two judges on one card: start, route, choose, abort, sleep, wake, wake badly, die, hang, recover.

``quality`` keeps its weights in main memory while it sleeps, ``safety`` reads them from disk again. Both run in pools
behind the service in this process; what users do goes over HTTP, what breaks is broken from outside, by process id.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
from notes import Notes

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, Completion, Message, Request, SamplingParams, TokenPrompt
from assay.engines.pool.engine import PoolEngine
from assay.engines.sglang.engine import SGLangEngine
from assay.engines.sglang.gpu import Card, NvmlCards
from assay.service.app import create_app
from assay.service.server import running
from assay.service.settings import ServiceSettings
from judges import NO_THINKING, engine_config, hub_of, pool_of, sglang_of

GIB = 1 << 30
PROMPTS = ("Is 17 a prime number?", "Name three colours.", "What is 12 times 12?", "Who wrote Hamlet?")
Logprobs = list[tuple[float, ...]]


class Life:
    """The two judges, a client, and what they said at the start."""

    def __init__(self, options: argparse.Namespace, notes: Notes) -> None:
        self.notes = notes
        self.share = options.share
        self.context_len = options.max_context_len
        make = {"quality": (options.model, True), "safety": (options.other, False)}
        self.pools: dict[str, PoolEngine] = {
            key: pool_of(engine_config(options, model, mem_fraction_static=options.share, weights_cpu_backup=backup))
            for key, (model, backup) in make.items()
        }
        self.cards = NvmlCards(("0",))
        self.said: dict[str, Logprobs] = {}
        self.url = ""
        self.session: aiohttp.ClientSession

    async def run(self) -> None:
        """All steps; a step that fails does not keep the next from being tried."""
        notes = self.notes
        empty = self.used()
        app = create_app(hub_of(self.pools, 32), ServiceSettings(port=0))
        async with notes.step("everything", 560):
            began = time.monotonic()
            async with running(app, ServiceSettings(port=0)) as self.url, aiohttp.ClientSession() as self.session:
                notes.figure("both judges ready after", round(time.monotonic() - began, 1), "s")
                async with notes.step("co-resident", 30):
                    await self.co_resident()
                async with notes.step("route", 60):
                    await self.route()
                async with notes.step("log-probs and choices", 60):
                    await self.facts()
                async with notes.step("abort", 30):
                    await self.abort()
                async with notes.step("refused calls", 30):
                    await self.refused()
                for key in self.pools:
                    async with notes.step(f"sleep and wake of {key}", 90):
                        for _ in range(2):
                            await self.sleep_and_wake(key)
                async with notes.step("bad wake of safety", 60):
                    await self.bad_wake("safety")
                async with notes.step("kill -9 of quality's scheduler", 150):
                    await self.kill("quality", "safety")
                async with notes.step("hang of safety", 150):
                    await self.hang("safety", "quality")
            for _ in range(20):
                if self.used() - empty < GIB:
                    break
                await asyncio.sleep(0.5)
            notes.check("the card is as empty as before", self.used() - empty < GIB, f"{empty} -> {self.used()} bytes")

    # What the steps need.

    def used(self) -> int:
        return sum(card.used for card in self.cards.read())

    def engine(self, key: str) -> SGLangEngine:
        return sglang_of(self.pools[key])

    def parts(self, key: str) -> Any:
        running_ = self.engine(key)._running
        assert running_ is not None
        return running_

    async def post(self, path: str, body: dict[str, Any], timeout_s: float = 60) -> tuple[int, dict[str, Any]]:
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        async with self.session.post(self.url + path, json=body, timeout=timeout) as response:
            return response.status, await response.json()

    async def health(self) -> tuple[int, dict[str, Any]]:
        async with self.session.get(self.url + "/health") as response:
            return response.status, await response.json()

    async def generate(self, key: str, text: str, **sampling: Any) -> tuple[int, dict[str, Any]]:
        body = {"messages": [{"role": "user", "content": text}], "route_key": key, "sampling_params": sampling}
        return await self.post("/generate", body, timeout_s=140)

    async def ask(self, key: str, prompt: ChatPrompt | TokenPrompt, **more: Any) -> Completion:
        given = {"temperature": 0.0, "max_new_tokens": 16, "chat_template_kwargs": NO_THINKING}
        choices = more.pop("choices", None)
        sampling = SamplingParams(**(given | more))
        request = Request(id="b", prompt=prompt, sampling=sampling, choices=choices)
        return (await self.engine(key).generate(request, Deadline.after(60)))[0]

    async def logprobs(self, key: str) -> Logprobs:
        return [(await self.ask(key, chat(text), logprobs=0)).logprobs or () for text in PROMPTS]

    async def same_judge(self, key: str, name: str) -> None:
        """Hold what an engine says now against what it said at the start."""
        now = await self.logprobs(key)
        apart = [abs(a - b) for x, y in zip(now, self.said[key], strict=True) for a, b in zip(x, y, strict=False)]
        self.notes.check(name, max(apart) < 0.05, f"largest difference {max(apart):.4f} nats over {len(apart)} tokens")

    # The steps.

    async def co_resident(self) -> None:
        (card,) = self.cards.read() or (Card(name="none", total=1, free=1, held={}),)
        held = {key: await self.engine(key).held_bytes() or 0 for key in self.pools}
        for key, size in held.items():
            self.notes.figure(f"{key} holds", round(size / GIB, 2), "GiB")
            self.notes.figure(f"{key} holds, share of the card", round(size / card.total, 3))
            context = self.engine(key).info.context_len
            self.notes.check(f"{key}: context", context == self.context_len, context)
        self.notes.figure("card used", round(card.used / GIB, 2), "GiB")
        self.notes.figure("asked for each", self.share)
        for key in self.pools:
            self.said[key] = await self.logprobs(key)

    async def route(self) -> None:
        replies = {key: await self.generate(key, PROMPTS[0], temperature=0.0) for key in self.pools}
        self.notes.check("both answer", {status for status, _ in replies.values()} == {200}, replies)
        texts = {body["response"] for _, body in replies.values()}
        self.notes.check("route_key reaches different judges", len(texts) == 2, texts)
        status, body = await self.generate("qualty", PROMPTS[0])
        self.notes.check("an unknown key is a 404 with the list", status == 404 and "'quality'" in str(body), body)
        item = {"prompt": PROMPTS[2], "candidates": ["144"]}
        status, body = await self.post("/score", {"judge": "pointwise", "item": item, "route_key": "quality"})
        self.notes.check("/score: a verdict or a typed failure", status == 200 and len(body) >= 1, body)

    async def facts(self) -> None:
        cold, hot = [await self.ask("quality", chat(PROMPTS[0]), logprobs=5, temperature=t) for t in (0.0, 2.0)]
        tops = [{one.token_id: one.logprob for one in (c.top_logprobs or ((),))[0]} for c in (cold, hot)]
        apart = max(abs(tops[0][token] - tops[1][token]) for token in tops[0].keys() & tops[1].keys())
        self.notes.check("log-probs do not depend on the temperature", apart < 0.1, f"{apart:.4f} nats")
        self.notes.check("tokens and log-probs go together", len(cold.token_ids) == len(cold.logprobs or ()), cold)

        both = await self.ask("quality", chat(PROMPTS[2]), choices=("1", "10"))
        one, ten = both.choice_logprobs or (0.0, 0.0)
        self.notes.figure("mass of the choices", both.mass or 0.0)
        self.notes.check("a longer choice is no likelier than its beginning", ten <= one, both.choice_logprobs)
        server = self.parts("quality").parts.server
        tokenized = (await server.send("/tokenize", chat_body(PROMPTS[2]))).data()["tokens"]
        labels = (await server.send("/tokenize", {"prompt": ["1", "0"], "add_special_tokens": False})).data()["tokens"]
        known = await self.ask("quality", TokenPrompt(token_ids=(*tokenized, labels[0][0])), choices=("0",))
        apart = abs(ten - one - (known.choice_logprobs or (0.0,))[0])
        self.notes.check("the second token's log-prob is that behind the first", apart < 0.1, f"{apart:.4f} nats")
        scored = {"query": tokenized, "items": [[]], "label_token_ids": [labels[0][0]], "apply_softmax": False}
        reply = await server.send("/v1/score", scored)
        self.notes.figure("the server's own score of '1'", str(reply.text[:160]))
        self.notes.figure("ours", 2.718281828459045**one)
        four = await self.engine("quality").generate(
            replace(Request(id="n", prompt=chat(PROMPTS[1])), n=4, sampling=SamplingParams(max_new_tokens=8)),
            Deadline.after(30),
        )
        self.notes.check("n samples of one prompt", [c.index for c in four] == [0, 1, 2, 3], [c.text for c in four])

    async def abort(self) -> None:
        task = asyncio.create_task(
            self.ask("quality", chat("Tell a SLOW story."), max_new_tokens=3000, temperature=1.0)
        )
        await asyncio.sleep(1.0)
        before = await self.running_requests("quality")
        task.cancel()
        began = time.monotonic()
        await asyncio.gather(task, return_exceptions=True)
        await until(lambda: self.idle("quality"), 5)
        self.notes.check("it ran", before >= 1, before)
        self.notes.figure("a caller who leaves: aborted after", round(time.monotonic() - began, 3), "s")

    async def idle(self, key: str) -> bool:
        return await self.running_requests(key) == 0

    async def well(self) -> bool:
        return (await self.health())[0] == 200

    async def unwell(self) -> bool:
        return not await self.well()

    async def running_requests(self, key: str) -> int:
        told = (await self.parts(key).parts.server.get("/v1/loads", 5)).data()
        return sum(load["num_running_reqs"] for load in told["loads"])

    async def refused(self) -> None:
        for name, ids in (("beyond the vocabulary", (5, 10_000_000)), ("below zero", (-1,)), ("none", ())):
            try:
                await self.ask("quality", TokenPrompt(token_ids=ids))
                self.notes.check(f"ids {name} are refused", False, "answered")
            except GenerationError as error:
                self.notes.check(f"ids {name} are refused", error.kind == "bad_request", error)
        status, body = await self.generate("quality", "word " * 6000)
        self.notes.check("a prompt over the context is a 400 with both lengths", status == 400, body)
        await self.same_judge("quality", "the judge is unharmed")

    async def sleep_and_wake(self, key: str) -> None:
        own = Own(self.parts(key).parts.server)
        before, began = self.used(), time.monotonic()
        status, body = await self.post("/offload", {"route_key": key})
        seconds = time.monotonic() - began
        self.notes.check(f"{key} sleeps", status == 200 and body["state"] == "asleep", body)
        self.notes.figure(f"{key}: sleep", round(seconds, 3), "s")
        self.notes.figure(f"{key}: sleep beyond the engine's own", round(seconds - own.take(), 3), "s")
        self.notes.figure(f"{key}: card before", round(before / GIB, 2), "GiB")
        self.notes.figure(f"{key}: card asleep", round(self.used() / GIB, 2), "GiB")
        self.notes.figure(f"{key}: bytes freed, as said", round(body["bytes"] / GIB, 2), "GiB")
        healths = [await self.health() for _ in range(5)]
        self.notes.check("asleep on purpose is healthy", {status for status, _ in healths} == {200}, healths[-1])
        status, body = await self.generate(key, PROMPTS[0])
        self.notes.check("a request to a sleeping judge is a 503", status == 503, body)
        others = [await self.generate(other, PROMPTS[0]) for other in self.pools if other != key]
        self.notes.check("the other judge serves", {status for status, _ in others} == {200}, others)
        own.take()
        began = time.monotonic()
        status, body = await self.post("/onload", {"route_key": key})
        seconds = time.monotonic() - began
        self.notes.check(f"{key} wakes", status == 200 and body["state"] == "ready", body)
        self.notes.figure(f"{key}: wake, canary included", round(seconds, 3), "s")
        self.notes.figure(f"{key}: wake beyond the engine's own, canary included", round(seconds - own.take(), 3), "s")
        self.notes.figure(f"{key}: card awake", round(self.used() / GIB, 2), "GiB")
        self.notes.check("the canary passed", self.pools[key].counters.drifts == 0, self.pools[key].counters)
        await self.same_judge(key, "the same judge as at the start")

    async def bad_wake(self, key: str) -> None:
        """Wake with weights that nobody has read again: zeros, which the server serves with 200."""
        sleeper = self.parts(key).sleeper
        real, drifts = sleeper._read_again, self.pools[key].counters.drifts

        async def forgotten() -> None:
            self.notes.say("    the weights are left as zeros")

        await self.post("/offload", {"route_key": key})
        sleeper._read_again = forgotten
        began = time.monotonic()
        status, body = await self.post("/onload", {"route_key": key})
        sleeper._read_again = real
        self.notes.figure("noticed, reloaded and proven after", round(time.monotonic() - began, 3), "s")
        self.notes.check("the canary noticed", self.pools[key].counters.drifts == drifts + 1, self.pools[key].counters)
        self.notes.check("it serves again", status == 200 and body["state"] == "ready", body)
        await self.same_judge(key, "the same judge as at the start")

    async def kill(self, key: str, other: str) -> None:
        scheduler = next(pid for pid in self.parts(key).parts.process.pids if b"sglang::scheduler" in title(pid))
        await self.break_and_recover(key, other, {scheduler}, signal.SIGKILL)

    async def hang(self, key: str, other: str) -> None:
        await self.break_and_recover(key, other, self.parts(key).parts.process.pids, signal.SIGSTOP)

    async def break_and_recover(self, key: str, other: str, pids: Any, number: signal.Signals) -> None:
        """Send a signal under load; how long until health says so, until it serves again, and what became of all."""
        outcomes: dict[str, Counter[int]] = {key: Counter(), other: Counter()}
        stop = asyncio.Event()

        async def worker(instance: str) -> None:
            while not stop.is_set():
                try:
                    status, _ = await self.generate(instance, f"{PROMPTS[0]} {time.monotonic_ns()}", max_new_tokens=8)
                except (aiohttp.ClientError, TimeoutError):
                    status = 0
                outcomes[instance][status] += 1
                await asyncio.sleep(0.2 if status != 200 else 0)

        workers = [asyncio.create_task(worker(instance)) for instance in outcomes for _ in range(8)]
        try:
            await asyncio.sleep(2.0)
            for pid in pids:
                os.kill(pid, number)
            began = time.monotonic()
            await until(self.unwell, 30)
            self.notes.figure("health says so after", round(time.monotonic() - began, 2), "s")
            self.notes.check("health within two seconds", time.monotonic() - began < 2, (await self.health())[1])
            await until(self.well, 130)
            self.notes.figure("serves again after", round(time.monotonic() - began, 1), "s")
        finally:
            stop.set()
            await asyncio.gather(*workers, return_exceptions=True)
        self.notes.figure(f"statuses of {key}", str(dict(outcomes[key])))
        self.notes.check(f"{other} was not disturbed", set(outcomes[other]) == {200}, dict(outcomes[other]))
        await self.same_judge(key, "the same judge as at the start")


class Own:
    """Adds up the seconds that the server itself takes for its control calls."""

    def __init__(self, server: Any) -> None:
        self.seconds = 0.0
        real = server.control

        async def timed(path: str, body: Any) -> Any:
            began = time.monotonic()
            try:
                return await real(path, body)
            finally:
                self.seconds += time.monotonic() - began

        server.control = timed

    def take(self) -> float:
        """The seconds since the last time."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def title(pid: int) -> bytes:
    """What a process calls itself."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


async def until(true: Callable[[], Awaitable[bool]], limit_s: float) -> None:
    """Ask again and again until it is true, or the limit is over."""
    over = time.monotonic() + limit_s
    while True:
        if await true() or time.monotonic() > over:
            return
        await asyncio.sleep(0.03)


def chat(text: str) -> ChatPrompt:
    """One user turn."""
    return ChatPrompt(messages=(Message(role="user", content=text),))


def chat_body(text: str) -> dict[str, Any]:
    """The same as JSON, without thinking."""
    return {"messages": [{"role": "user", "content": text}], "chat_template_kwargs": NO_THINKING}
