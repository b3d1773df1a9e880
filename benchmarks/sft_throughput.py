"""Fine-tuning of a judge on one card: rows and tokens a second, and where the time goes, by size of micro-batch.

    python benchmarks/sft_throughput.py [--tokens 16384,65536] [--ways plain,fused,compiled] [--seconds 1.5]

Rows of the verifier on generated items. ``own``: tokens behind the instructions that all rows share; ``rows``: what is
learned from. An update is one micro-batch. Ways: ``plain``, the layers of transformers and peft; ``fused``, what is
trained with by default; ``compiled``, with --compile. ``host`` is what is left of an update after forward, backward and
optimizer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table

from assay.core.types import ChatPrompt, Draw
from assay.judges import build_judge
from assay.synthetic.kinds import kinds_named
from assay.synthetic.oracle import completions
from assay.synthetic.stream import Plan, stream
from assay.training.fused import plain
from assay.training.sft.config import SftConfig
from assay.training.sft.encode import Encoded
from assay.training.sft.reading import EncoderSettings
from assay.training.sft.rows import SftRow
from assay.training.sft.task import SftTask
from assay.training.trainer import Trainer

PHASES = ("forward", "backward", "optimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way to train. ``lora_rank`` 0: all weights."""

    tokens: int
    lora_rank: int
    way: str

    def config(self) -> SftConfig:
        return SftConfig(
            data="generated",
            lora_rank=self.lora_rank,
            lr=1e-4,
            max_tokens_per_micro_batch=self.tokens,
            compile=self.way == "compiled",
        )

    @property
    def name(self) -> str:
        return f"{f'LoRA {self.lora_rank}' if self.lora_rank else 'full'} {self.tokens} {self.way}"


def rows(count: int) -> Iterator[SftRow]:
    """What ``assay data generate --judge verifier --shape single`` writes."""
    judges = {language: build_judge("verifier", language=language) for language in ("en", "zh")}
    draw = Draw(vote=0, seed=0, order=(0,))
    for one in stream(Plan(kinds=kinds_named(["answers"]), shapes=("single",)), 0, count):
        judge = judges[one.language]
        prompt = judge.plan(one.item, draw)[0].prompt
        assert isinstance(prompt, ChatPrompt)
        yield SftRow(prompt=prompt.messages, completion=completions(one, judge, draw)[0])


def measured(setting: Setting, encoded: list[Encoded], seconds: float) -> list[str]:
    task = SftTask(encoded, [])
    begun = time.perf_counter()
    trainer = Trainer(setting.config().trainer(None))
    if setting.way == "plain":
        plain(trainer.policy.lm)
    own = sum(len(s.response_ids) for s in task.batch(range(500))[0].sequences) / 500
    # The openings, of two languages, go through once each.
    size = max(1, int((setting.tokens - 700) / own))
    picked = [[(number * size + i) % task.size for i in range(size)] for number in range(1000)]
    for number in range(3):
        trainer.step(*task.batch(picked[number]), lr=1e-4)
    warm = time.perf_counter() - begun
    torch.cuda.reset_peak_memory_stats()
    spent = dict.fromkeys(PHASES, 0.0)
    begun, number, packed, micros = time.perf_counter(), 0, 0, 0
    while time.perf_counter() - begun < seconds:
        done = trainer.step(*task.batch(picked[number % 1000]), lr=1e-4)
        number += 1
        packed += done.updates[0].packed_tokens
        micros += done.updates[0].micro_batches
        for name in PHASES:
            spent[name] += done.seconds[name]
    whole = time.perf_counter() - begun
    shares = [spent[name] / whole for name in PHASES]
    return [
        f"{number * size / whole:,.0f}",
        f"{number * size * own / whole:,.0f}",
        f"{packed / whole:,.0f}",
        f"{1000 * whole / number:,.0f}",
        *(f"{share:.0%}" for share in (*shares, 1 - sum(shares))),
        f"{micros / number:.1f}",
        f"{torch.cuda.max_memory_allocated() / 2**30:.1f}",
        f"{warm:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", default="16384,65536")
    parser.add_argument("--ways", default="plain,fused,compiled")
    parser.add_argument("--ranks", default="16,0", help="of the adapter; 0: all weights")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each setting, after the first three updates")
    parser.add_argument("--rows", type=int, default=6000)
    options = parser.parse_args()
    settings = [
        Setting(tokens=int(tokens), lora_rank=int(rank), way=way)
        for way in options.ways.split(",")
        for rank in options.ranks.split(",")
        for tokens in options.tokens.split(",")
    ]
    begun = time.perf_counter()
    encoder = EncoderSettings.of(settings[0].config()).make()
    encoded = [encoder.encode(row) for row in rows(options.rows)]
    print(
        f"{len(encoded) / (time.perf_counter() - begun):,.0f} rows/s generated and tokenized by one process", flush=True
    )
    table = Table(title=torch.cuda.get_device_name())
    headings = ("setting", "rows/s", "own tok/s", "packed tok/s", "ms", *PHASES, "host", "micro", "GiB", "warm s")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "setting" else "right", no_wrap=True)
    for one in settings:
        try:
            cells = measured(one, encoded, options.seconds)
        except torch.cuda.OutOfMemoryError:
            cells = ["out of memory"]
        torch.cuda.empty_cache()
        print(one.name, *cells, flush=True)
        table.add_row(one.name, *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
