"""Judge prompts per second of the embedded engine beside plain ``model.generate``; about 80 % of each prompt is shared.

    OMP_NUM_THREADS=2 python benchmarks/embedded_prefix.py [--prompts 32] [--batch 32] [--new-tokens 8] [--rounds 2]

Both sides run the same weights in the same dtype, on the same prompts, greedily, at the same batch. They take turns
within each round, and the engine starts each round with an empty prefix cache, so it pays for the shared part once.
Read the ratio, not the rates. The texts of both sides are compared: log-probs that are equal up to rounding may still
flip a near tie.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Message, Request, SamplingParams
from assay.engines.embedded.chat import Renderer
from assay.engines.embedded.config import DEFAULT_MODEL, EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.engines.embedded.finding import find_model
from assay.engines.embedded.loading import load_model, pick_device, pick_dtype
from assay.engines.embedded.prefix import common_length

INSTRUCTIONS = """You check answers to short questions. You are given a question, the standard answer and the answer \
of a student. Decide whether the student's answer means the same as the standard answer. Follow these rules.
- Numbers count as equal when they have the same value, however they are written: 0.5, 1/2 and 50 % are one number.
- A missing unit is fine when the question names the unit. A wrong unit makes the answer wrong.
- Dates and names may be written in any usual form. A different day, or another person, is wrong.
- Do not solve the question yourself and do not judge the way the student wrote it. Compare the two answers only.
- An answer that offers several possibilities is wrong, even if one of them is right.
Example. Question: How many minutes are in two hours? Standard answer: 120. Student: It is 120 minutes. Decision: 1
Example. Question: What is the capital of Peru? Standard answer: Lima. Student: I believe it is Cusco. Decision: 0
Reply with one line: the decision, 1 for the same and 0 for different, and then a reason of a few words."""


@dataclass(frozen=True, slots=True)
class Side:
    """One measurement of one side."""

    seconds: float
    texts: list[str]


def main() -> None:
    args = _arguments()
    asyncio.run(_run(args, Console()))


async def _run(args: argparse.Namespace, console: Console) -> None:
    config = EmbeddedConfig(
        model=args.model, device=args.device, dtype=args.dtype, max_batch=args.batch, threads=args.threads
    )
    engine = EmbeddedEngine(config)
    await engine.start()
    plain = Plain(config)
    prompts = [judge_prompt(i) for i in range(args.prompts)]
    await _ask(engine, [judge_prompt(-1)], 2)
    plain.ask([judge_prompt(-1)], args.batch, 2)
    rounds: list[tuple[Side, Side]] = []
    for _ in range(args.rounds):
        await engine.sleep(frozenset({"kv_cache"}))
        await engine.wake(frozenset({"kv_cache"}))
        rounds.append((plain.ask(prompts, args.batch, args.new_tokens), await _ask(engine, prompts, args.new_tokens)))
    await engine.close()
    _report(console, args, plain.lengths(prompts), rounds)


class Plain:
    """transformers as it comes: its own attention, left padding, ``model.generate``."""

    def __init__(self, config: EmbeddedConfig) -> None:
        from transformers import AutoTokenizer

        path = find_model(config.model)
        device = pick_device(config.device)
        self.model: Any = load_model(config, path, device, pick_dtype(config.dtype, device))
        self.tokenizer: Any = AutoTokenizer.from_pretrained(str(path), padding_side="left")
        self.renderer = Renderer(self.tokenizer, self.model.config.vocab_size)

    def lengths(self, prompts: list[ChatPrompt]) -> tuple[float, int]:
        """Mean prompt length, and the length of what all share, in tokens."""
        ids = [self.renderer.ids(prompt, {}) for prompt in prompts]
        return statistics.mean(map(len, ids)), min(common_length(ids[0], other) for other in ids[1:])

    @torch.inference_mode()
    def ask(self, prompts: list[ChatPrompt], batch: int, new_tokens: int) -> Side:
        texts: list[str] = []
        start = time.perf_counter()
        for at in range(0, len(prompts), batch):
            ids = [list(self.renderer.ids(prompt, {})) for prompt in prompts[at : at + batch]]
            padded = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.model.device)
            out = self.model.generate(**padded, max_new_tokens=new_tokens, do_sample=False)
            replies = out[:, padded["input_ids"].shape[1] :]
            texts += self.tokenizer.batch_decode(replies, skip_special_tokens=True)
        return Side(time.perf_counter() - start, texts)


async def _ask(engine: EmbeddedEngine, prompts: list[ChatPrompt], new_tokens: int) -> Side:
    sampling = SamplingParams(temperature=0.0, max_new_tokens=new_tokens)
    requests = [Request(id=str(i), prompt=prompt, sampling=sampling) for i, prompt in enumerate(prompts)]
    start = time.perf_counter()
    answers = await asyncio.gather(*(engine.generate(request, Deadline.never()) for request in requests))
    return Side(time.perf_counter() - start, [answer[0].text for answer in answers])


def judge_prompt(i: int) -> ChatPrompt:
    """A verifier's prompt: the long instructions, then a question with two answers."""
    price, count, gap = 3 + i % 7, 4 + i % 11, i % 3
    tail = (
        f"\n\nQuestion: A notebook costs {price} euros. How many euros do {count} notebooks cost together, and what is "
        f"left of {price * count + 20} euros after they are paid for?\nStandard answer: {price * count} and 20\n"
        f"Student: They cost {price * count + gap} euros in all, so {20 - gap} euros are left.\nDecision:"
    )
    return ChatPrompt(messages=(Message(role="user", content=INSTRUCTIONS + tail),))


def _report(
    console: Console, args: argparse.Namespace, lengths: tuple[float, int], rounds: list[tuple[Side, Side]]
) -> None:
    mean, shared = lengths
    table = Table(title=f"{args.model}: {args.prompts} judge prompts, batch {args.batch}, {args.new_tokens} new tokens")
    for name in ("round", "plain, s", "engine, s", "plain, prompts/s", "engine, prompts/s", "ratio", "equal texts"):
        table.add_column(name, justify="right")
    for number, (plain, engine) in enumerate(rounds, 1):
        equal = sum(a.strip() == b.strip() for a, b in zip(plain.texts, engine.texts, strict=True))
        seconds = (plain.seconds, engine.seconds)
        rates = [f"{args.prompts / s:.2f}" for s in seconds]
        cells = [*(f"{s:.2f}" for s in seconds), *rates, f"{seconds[0] / seconds[1]:.2f}", f"{equal}/{args.prompts}"]
        table.add_row(str(number), *cells)
    console.print(table)
    ratio = statistics.median(plain.seconds / engine.seconds for plain, engine in rounds)
    console.print(
        f"{mean:.0f} tokens a prompt, the first {shared} the same in all ({100 * shared / mean:.0f} %). "
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, load before {os.getloadavg()[0]:.1f}."
    )
    console.print(f"prompts/s, engine ÷ plain: [bold]{ratio:.2f}[/bold] (median of {len(rounds)} rounds, target ≥ 3)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--dtype", default="auto", choices=("auto", "float32", "bfloat16"))
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--new-tokens", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=None, help="torch threads; default: torch's own choice")
    return parser.parse_args()


if __name__ == "__main__":
    main()
