"""Weights from a trainer to SGLang by disk, tensor (one card) and nccl (two cards): proof that they are in, and speed.

    python -m benchmarks.train_gpu.weight_sync --out OUT [--policy FOLDER] [--only small] [--routes disk,tensor,nccl]

The trainer is on the first card with two policies: ``--policy`` (the bundled SmolLM2-135M) and a Llama of 1.5 B drawn
at random. Each has an SGLang beside it on the first card and, where there is a second, another on that one; all start
at the same time. Each route then takes other weights ``--repeats`` times and is asked, greedily, for some tokens. They
are in if the engine says the new version and its log-probs are the trainer's own (and not those of the weights
before). At the end disk and tensor send the same weights, and SGLang's checksums of them are compared. A route that
fails is shown with its traceback, and the next one goes on. ``--kill`` ends a server in the middle of a transfer: a
pool must start another one and send it everything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import shutil
import statistics
import time
import traceback
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from assay.core.deadline import Deadline
from assay.core.types import Completion, Request, SamplingParams, TokenPrompt
from assay.engines.embedded.finding import find_model
from assay.engines.feed import FEED, GROUP_ENVIRONMENT
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.rl.algorithm import AlgorithmConfig
from assay.rl.local.sender import LocalSender
from assay.rl.local.trainer import LocalTrainer
from assay.rl.weights.feed import TrainerFeed
from assay.rl.weights.publish import ThroughFeed, ThroughFolder
from assay.training.batch import TrainSequence
from assay.training.config import TrainerConfig
from assay.training.dispatch import Dispatch
from assay.training.trainer import Trainer

ARGUMENTS = {
    "sampling_backend": "pytorch",
    "disable_prefill_cuda_graph": True,
    "cuda_graph_max_bs_decode": 32,
    # A fixed number, so that engines that start at the same time do not measure each other.
    "max_total_tokens": 32768,
    "dtype": "bfloat16",
}
BIG = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 49152,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "initializer_range": 0.02,
}
PROMPTS = 8
TOLERANCE = 0.15
"""Mean difference of log-probs, in nats: bf16 in two programs stays well below it, other weights well above."""


@dataclass(kw_only=True)
class Side:
    """A policy, its engines by card, and its feeds by route."""

    name: str
    policy: LocalTrainer
    engines: dict[int, SGLangEngine] = field(default_factory=dict[int, SGLangEngine])
    senders: list[LocalSender] = field(default_factory=list[LocalSender])
    feeds: dict[str, TrainerFeed] = field(default_factory=dict[str, TrainerFeed])

    @property
    def trainer(self) -> Trainer:
        return self.policy.inner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--policy", default="smollm2-135m-instruct")
    parser.add_argument("--routes", default="disk,tensor,nccl")
    parser.add_argument("--only", choices=("small", "big"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bucket-mib", type=int, default=512)
    parser.add_argument("--share", type=float, default=0.35, help="of a card, for each engine")
    parser.add_argument("--python", help="the interpreter that has SGLang; default: this one")
    parser.add_argument("--arguments", type=json.loads, default={}, help="more arguments of SGLang, as JSON")
    parser.add_argument("--kill", action="store_true", help="also end a server in the middle of a transfer")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, value in GROUP_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    asyncio.run(run(options))


async def run(options: argparse.Namespace) -> None:
    began = time.monotonic()
    routes = options.routes.split(",")
    cards = torch.cuda.device_count()
    if "nccl" in routes and cards < 2:
        say("one card only: no nccl")
        routes.remove("nccl")
    rows: list[dict[str, Any]] = []
    async with AsyncExitStack() as stack:
        sides = [side(name, folder, options) for name, folder in folders(options)]
        for one in sides:
            stack.push_async_callback(one.policy.close)
        say(f"trainers ready after {time.monotonic() - began:.0f} s")
        wanted = {0: bool({"disk", "tensor"} & set(routes)), 1: "nccl" in routes}
        starts = [start(one, card, options, stack) for one in sides for card, use in wanted.items() if use]
        await asyncio.gather(*starts)
        say(f"engines ready after {time.monotonic() - began:.0f} s")
        for one in sides:
            for route in routes:
                await tried(measured(one, route, options, rows), f"{one.name} {route}")
            if {"disk", "tensor"} <= set(routes):
                await tried(compared(one, options, rows), f"{one.name} checksums")
        if options.kill:
            await tried(killed(sides[0], routes, options, rows), "kill in the middle")
        show(rows, options.out)
        for one in sides:
            for engine in one.engines.values():
                engine.kill()
            for sender in one.senders:
                await tried(sender.close(), "giving up the groups")
    say(f"done after {time.monotonic() - began:.0f} s")


def folders(options: argparse.Namespace) -> list[tuple[str, Path]]:
    small = Path(find_model(options.policy))
    chosen = [("small", small), ("big", options.out / "big")]
    if options.only != "small":
        draw_big(small, options.out / "big")
    return [one for one in chosen if options.only in (None, one[0])]


def draw_big(tokenizer: Path, folder: Path) -> None:
    """A Llama of 1.5 B at random, in bf16, with the small one's tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    if (folder / "config.json").is_file():
        return
    torch.manual_seed(0)
    config = LlamaConfig(**BIG, bos_token_id=1, eos_token_id=2, pad_token_id=2)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    for pattern in ("tokenizer*", "special_tokens_map.json", "vocab*", "merges.txt", "*.jinja"):
        for file in tokenizer.glob(pattern):
            shutil.copyfile(file, folder / file.name)
    say(f"drew {sum(p.numel() for p in model.parameters()) / 1e9:.2f} B parameters")
    del model
    torch.cuda.empty_cache()


def side(name: str, folder: Path, options: argparse.Namespace) -> Side:
    trainer = Trainer(TrainerConfig(hf_checkpoint=str(folder), device="cuda"))
    made = Side(name=name, policy=LocalTrainer(trainer, AlgorithmConfig().objective(64)))
    for way in ("tensor", "nccl"):
        made.feeds[way] = feed_of(made, way, options.bucket_mib << 20)
    return made


def feed_of(one: Side, way: Any, bucket_bytes: int) -> TrainerFeed:
    dispatch = Dispatch(one.trainer, dtype="bfloat16", bucket_bytes=bucket_bytes, limit_s=60)
    one.senders.append(LocalSender(one.policy, dispatch))
    return TrainerFeed(one.senders[-1], way)


def settings(one: Side, card: int, options: argparse.Namespace, log: str) -> SGLangConfig:
    return SGLangConfig.model_validate(
        {
            "model": str(one.trainer.policy.source),
            "python": options.python,
            "gpu_ids": (card,),
            "mem_fraction_static": options.share,
            "max_context_len": 2048,
            "start_timeout_s": 200,
            "control_timeout_s": 60,
            "env": dict(GROUP_ENVIRONMENT),
            "log_file": options.out / log,
            "arguments": {**ARGUMENTS, **options.arguments},
        }
    )


async def start(one: Side, card: int, options: argparse.Namespace, stack: AsyncExitStack) -> None:
    feed = one.feeds["tensor" if card == 0 else "nccl"]
    engine = SGLangEngine(settings(one, card, options, f"sglang-{one.name}-{card}.log"), feed=feed)
    began = time.monotonic()
    if await tried(engine.start(), f"start of {one.name} on card {card}"):
        say(f"{one.name} on card {card} is ready after {time.monotonic() - began:.0f} s")
        one.engines[card] = engine
        stack.push_async_callback(engine.close)


async def tried(what: Any, name: str) -> bool:
    """Whether it went well; a traceback where not."""
    try:
        await what
    except Exception:  # noqa: BLE001 - one route that fails must not hide the others
        say(f"FAILED: {name}")
        traceback.print_exc()
        return False
    return True


def disturb(trainer: Trainer, amount: float = 0.2) -> str:
    """Other weights: noise of a share of each weight's own spread. Their version."""
    with torch.no_grad():
        for weight in trainer.policy.trained.values():
            spread = weight.std() if weight.dim() > 1 else weight.new_tensor(0.0)
            weight.add_(torch.randn_like(weight) * spread * amount)
    trainer.updates += 1
    torch.cuda.synchronize()
    return trainer.weight_version


def publisher(one: Side, route: str, options: argparse.Namespace) -> Any:
    engine = one.engines[1 if route == "nccl" else 0]
    if route == "disk":
        return ThroughFolder(one.policy, [engine], options.out / f"published-{one.name}")
    return ThroughFeed(one.policy, [engine], one.feeds[route])


async def measured(one: Side, route: str, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """A route with changed weights, ``--repeats`` times."""
    card = 1 if route == "nccl" else 0
    if card not in one.engines:
        say(f"{one.name} {route}: there is no engine on card {card}")
        return
    engine = one.engines[card]
    way = publisher(one, route, options)
    seconds: list[float] = []
    offs: list[float] = []
    before: list[float] = []
    size, texts, right = 0, 0, True
    for _ in range(options.repeats):
        old = await answers(engine, one.trainer)
        version = await one.policy.work(partial(disturb, one.trainer))
        before.append(await off(one, old))
        done = await way.publish()
        seconds.append(done.seconds)
        size = done.bytes
        new = await answers(engine, one.trainer)
        offs.append(await off(one, new))
        right = right and all(c.weight_version == version for c in new) and engine.info.weight_version == version
        texts += sum(a.token_ids != b.token_ids for a, b in zip(old, new, strict=True))
    warm = statistics.median(seconds[1:] or seconds)
    row = {
        "policy": one.name,
        "route": route,
        "GB": size / 1e9,
        "first_s": seconds[0],
        "s": warm,
        "GB/s": size / 1e9 / warm,
        "logprob_off": max(offs),
        "logprob_off_of_old": min(before),
        "texts_changed": f"{texts}/{PROMPTS * options.repeats}",
        "version": right,
        "ok": right and max(offs) < TOLERANCE and max(offs) < min(before) and texts > 0,
    }
    rows.append(row)
    say(json.dumps(row))


async def answers(engine: SGLangEngine, trainer: Trainer) -> list[Completion]:
    draw = random.Random(1)
    most = trainer.policy.lm.config.vocab_size
    sampling = SamplingParams(temperature=0.0, max_new_tokens=24, logprobs=0)
    requests = [
        Request(
            id=f"probe-{index}",
            prompt=TokenPrompt(token_ids=tuple(draw.randrange(100, most) for _ in range(24))),
            sampling=sampling,
        )
        for index in range(PROMPTS)
    ]
    found = await asyncio.gather(*(engine.generate(one, Deadline.after(60)) for one in requests))
    return [completions[0] for completions in found]


async def off(one: Side, completions: Sequence[Completion]) -> float:
    """How far the engine's log-probs are from those that the trainer has now: mean absolute nats per token."""
    draw = random.Random(1)
    most = one.trainer.policy.lm.config.vocab_size
    prompts = [tuple(draw.randrange(100, most) for _ in range(24)) for _ in completions]
    sequences = [
        TrainSequence(prompt_ids=p, response_ids=tuple(c.token_ids), loss_mask=(True,) * len(c.token_ids))
        for p, c in zip(prompts, completions, strict=True)
        if c.token_ids
    ]
    theirs = [value for c in completions if c.token_ids for value in c.logprobs or ()]
    ours = [value for row in await one.policy.work(partial(one.trainer.logprobs, sequences)) for value in row]
    if not ours or len(ours) != len(theirs):
        return math.inf
    return statistics.fmean(abs(a - b) for a, b in zip(ours, theirs, strict=True))


async def checksums(engine: SGLangEngine) -> dict[str, str]:
    server = engine._there().parts.server
    told = (await server.control("/weights_checker", {"action": "checksum"})).data()
    return told["ranks"][0]["checksums"]


async def compared(one: Side, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """The same weights by tensor and by disk: equal, bit by bit."""
    if one.name != "small" or 0 not in one.engines:
        return
    engine = one.engines[0]
    await one.policy.work(partial(disturb, one.trainer))
    stale = await checksums(engine)
    await publisher(one, "tensor", options).publish()
    sent = await checksums(engine)
    await publisher(one, "disk", options).publish()
    loaded = await checksums(engine)
    differing = sum(sent[name] != loaded[name] for name in loaded)
    changed = sum(stale[name] != sent[name] for name in sent)
    row = {"policy": one.name, "route": "tensor = disk", "tensors": len(loaded), "differ": differing}
    rows.append({**row, "changed": changed, "ok": differing == 0 and changed > 0})
    say(json.dumps(rows[-1]))


async def killed(one: Side, routes: Sequence[str], options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """A pool whose server is ended while it takes weights: another one starts, and gets all of them."""
    card = 1 if "nccl" in routes else 0
    way = "nccl" if card else "tensor"
    feed = feed_of(one, way, 32 << 20)
    sender = one.senders[-1]
    if card in one.engines:
        await one.engines.pop(card).close()
    config = settings(one, card, options, f"sglang-{one.name}-killed.log")
    pool = PoolEngine(PoolConfig(size=1), lambda _: SGLangEngine(config, feed=feed))
    await pool.start()
    try:
        await pool.update_weights(FEED + one.trainer.weight_version, one.trainer.weight_version)
        version = await one.policy.work(partial(disturb, one.trainer))
        real, count = sender.next, 0

        async def ending(width: int) -> Any:
            nonlocal count
            count += 1
            if count == 2:
                first = pool.members[0].engine
                assert isinstance(first, SGLangEngine)
                first.kill()
            return await real(width)

        sender.next = ending  # type: ignore[method-assign]
        began = time.monotonic()
        try:
            await pool.update_weights(FEED + version, version)
        finally:
            sender.next = real  # type: ignore[method-assign]
        engine = pool.members[0].engine
        assert isinstance(engine, SGLangEngine)
        found = await answers(engine, one.trainer)
        distance = await off(one, found)
        row = {"policy": one.name, "route": f"{way}, killed", "s": time.monotonic() - began, "logprob_off": distance}
        rows.append({**row, "ok": distance < TOLERANCE and pool.info.weight_version == version})
        say(json.dumps(rows[-1]))
    finally:
        await pool.close()


def show(rows: Sequence[dict[str, Any]], out: Path) -> None:
    (out / "weight_sync.json").write_text(json.dumps(list(rows), indent=1))
    say(f"\n{'policy':7} {'route':14} {'GB':>6} {'first s':>8} {'s':>7} {'GB/s':>6} {'off':>7} {'old off':>8}  ok")
    for row in rows:
        cells = (row.get("GB"), row.get("first_s"), row.get("s"), row.get("GB/s"), row.get("logprob_off"))
        gb, first, s, rate, distance = ("" if cell is None else f"{cell:.3g}" for cell in cells)
        old = row.get("logprob_off_of_old")
        told = "" if old is None else f"{old:.3g}"
        line = f"{row['policy']:7} {row['route']:14} {gb:>6} {first:>8} {s:>7} {rate:>6} {distance:>7} {told:>8}"
        say(f"{line}  {'yes' if row['ok'] else 'NO'}")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
