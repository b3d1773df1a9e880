"""``assay rm`` on one GPU: every kind of head on a 135M model, and its logits in SGLang beside those of transformers.

    python -m benchmarks.heads_gpu --out OUT [--minutes 0.4] [--kinds bt,pairrm,cloud] [--served bt] [--model FOLDER]

The pairs are generated (``assay data generate``): 4,000 to train on and 400 of the held-out side to measure on. The
critiques of ``cloud`` say whether the answer is right, so its accuracy is that of reading them. Each head that is
served is then loaded by an SGLang (``--is-embedding``) and asked over HTTP by the product's own reward engine; the same
prompts go to the embedded one, in float32. One table at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Message
from assay.engines.base import RewardEngine
from assay.engines.embedded.reward.config import EmbeddedRewardConfig
from assay.engines.embedded.reward.engine import EmbeddedRewardEngine
from assay.engines.http_reward.config import HttpRewardConfig
from assay.engines.http_reward.engine import HttpRewardEngine
from assay.engines.sglang.process import free_port

TRAIN, HELD, PROBES = 4000, 400, 64


@dataclass(frozen=True)
class Served:
    """How far SGLang's logits are from those of transformers."""

    start_s: float
    largest: float
    mean: float
    spread: float
    """Standard deviation of the logits themselves."""
    order: float
    """Share of neighbouring probes that both put in the same order."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=0.4)
    parser.add_argument("--kinds", default="bt,pairrm,cloud")
    parser.add_argument("--served", default="bt")
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--arguments", type=json.loads, default={}, help="more arguments of SGLang, as JSON")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    train, held = pairs(options.out, "train", TRAIN), pairs(options.out, "held", HELD)
    lines = [
        "| head | minutes | updates | held-out loss before → after | accuracy before → after |",
        "|---|---|---|---|---|",
    ]
    for kind in options.kinds.split(","):
        lines.append(trained(kind, train, held, options))
        print(lines[-1], flush=True)
    lines += [
        "",
        "| head in SGLang | start, s | logits: sd | largest difference | mean | same order |",
        "|---|---|---|---|---|---|",
    ]
    for kind in [one for one in options.served.split(",") if one]:
        one = asyncio.run(served(options.out / kind / "model", held, options))
        lines.append(
            f"| {kind} | {one.start_s:.0f} | {one.spread:.3f} | {one.largest:.4f} | {one.mean:.4f} | {one.order:.1%} |"
        )
    text = "\n".join(lines) + "\n"
    (options.out / "heads.md").write_text(text)
    print(text)


def pairs(out: Path, side: str, count: int) -> Path:
    """Generated pairs with a critique for each candidate."""
    path = out / f"{side}.jsonl"
    assay("data", "generate", "-o", str(path), "-n", str(count), "--shape", "pair", "--side", side, "--language", "en")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["critiques"] = [_critique(row, index) for index in range(len(row["candidates"]))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _critique(row: dict[str, object], index: int) -> str:
    gold = row["gold"]
    assert isinstance(gold, list)
    return "It does all that was asked." if gold[index] == max(gold) else "It does not do what was asked."


def trained(kind: str, train: Path, held: Path, options: argparse.Namespace) -> str:
    """Train a head; its row of the table."""
    run = options.out / kind
    assay(
        *("rm", "--kind", kind, "--data", str(train), "--eval-data", str(held), "--run-dir", str(run)),
        *("--minutes", str(options.minutes), "--lr", "3e-5", "--global-batch-size", "32", "--tracker", "none"),
        *("--device", options.device, "--hf-checkpoint", options.model, "--max-length", "2048"),
        *("--max-tokens-per-micro-batch", "16384"),
    )
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    eval_lines = [line for line in steps if "eval/held_out/loss" in line]
    first, last = eval_lines[0], eval_lines[-1]
    cells = [f"{first[name]:.3f} → {last[name]:.3f}" for name in ("eval/held_out/loss", "eval/held_out/accuracy")]
    return f"| {kind} | {options.minutes:g} | {last['step']} | {cells[0]} | {cells[1]} |"


async def served(folder: Path, held: Path, options: argparse.Namespace) -> Served:
    """Start SGLang with the head, and ask both engines about the same texts."""
    port = free_port()
    log = (options.out / "sglang.log").open("ab")
    more = [part for name, value in options.arguments.items() for part in _argument(name, value)]
    command = [sys.executable, "-m", "sglang.launch_server", "--is-embedding", "--model-path", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--mem-fraction-static", "0.3", "--dtype", "bfloat16"]
    command += ["--sampling-backend", "pytorch", "--disable-prefill-cuda-graph", *more]
    begin = time.monotonic()
    server = await asyncio.create_subprocess_exec(
        *command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        there = HttpRewardEngine(HttpRewardConfig(kind="sglang", base_url=f"http://127.0.0.1:{port}", wait_s=200))
        await there.start()
        start_s = time.monotonic() - begin
        here = EmbeddedRewardEngine(EmbeddedRewardConfig(model=str(folder), device=options.device, dtype="float32"))
        await here.start()
        prompts = probes(held)
        found, wanted = await logits(there, prompts), await logits(here, prompts)
        await there.close()
        await here.close()
    finally:
        server.terminate()
        await asyncio.wait_for(server.wait(), 30)
    return compared(start_s, found, wanted)


def probes(held: Path) -> list[ChatPrompt]:
    """Conversations that end with an answer: what a head of kind bt reads."""
    rows = [json.loads(line) for line in held.read_text().splitlines()[: PROBES // 2]]
    return [
        ChatPrompt(messages=(Message(role="user", content=row["prompt"]), Message(role="assistant", content=text)))
        for row in rows
        for text in row["candidates"]
    ]


async def logits(engine: RewardEngine, prompts: list[ChatPrompt]) -> list[float]:
    """The engine's logit of each prompt."""
    asked = (engine.reward(prompt, Deadline.after(60)) for prompt in prompts)
    return [reward.logit for reward in await asyncio.gather(*asked)]


def compared(start_s: float, found: list[float], wanted: list[float]) -> Served:
    """The differences of two lists of logits."""
    off = [abs(one - other) for one, other in zip(found, wanted, strict=True)]
    mean = sum(wanted) / len(wanted)
    spread = (sum((one - mean) ** 2 for one in wanted) / len(wanted)) ** 0.5
    steps = list(zip(zip(found[1:], found[:-1], strict=True), zip(wanted[1:], wanted[:-1], strict=True), strict=True))
    same = sum((f1 > f0) == (w1 > w0) for (f1, f0), (w1, w0) in steps) / len(steps)
    return Served(start_s, max(off), sum(off) / len(off), spread, same)


def assay(*arguments: str) -> None:
    """Run a command of the product; its last lines where it fails."""
    done = subprocess.run([sys.executable, "-m", "assay", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"assay {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-1500:]}{done.stderr[-3000:]}"
        )


def _argument(name: str, value: object) -> list[str]:
    flag = "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, str(value)]


if __name__ == "__main__":
    main()
