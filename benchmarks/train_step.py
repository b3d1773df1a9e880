"""One GRPO update at fixed lengths, ours beside TRL's GRPOTrainer, by phase.

    OMP_NUM_THREADS=2 python benchmarks/train_step.py [--rounds 3] [--beta 0 0.04] [--no-trl]

8 prompts of 44 tokens, 4 responses of 32 each, made up; SmolLM2-135M in float32. Only the update is timed: reference
log-probs where there is a KL term, forward, backward, clipping, AdamW. Nothing is generated (TRL is handed the same
responses through its ``rollout_func``).

TRL runs at several batch sizes, without gradient checkpointing, with fused AdamW; its fastest row is what ours is
divided by. It saves the pass for old log-probs too. Ours runs at several budgets, then without shared prompts and with
a pass for old log-probs, to show what each brings. Sides take turns; the first step of each is not counted. Read the
ratio, not the seconds, and run it on a machine that does nothing else. Where something else runs, ``--clock cpu``
counts the processor's seconds of this process instead (totals only; with one thread), and ``--prompts 2`` makes a step
a quarter as long. TRL is no dependency: ``pip install trl``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from assay.engines.embedded.config import DEFAULT_MODEL
from assay.engines.embedded.finding import find_model
from assay.models.losses.config import PolicyLossConfig
from assay.training.batch import TrainBatch, TrainSequence
from assay.training.config import TrainerConfig
from assay.training.objective import PolicyObjective
from assay.training.trainer import Trainer

SAMPLES, PROMPT, RESPONSE = 4, 44, 32
PHASES = ("old_logprobs", "reference", "forward", "backward", "optimizer")
Seconds = dict[str, float]
Now = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Side:
    """One row: its name, and what makes a step of it."""

    name: str
    step: Callable[[], Seconds]
    trl: bool = False


def main() -> None:
    args = _arguments()
    torch.set_num_threads(args.threads)
    console = Console(width=120)
    now = time.process_time if args.clock == "cpu" else time.perf_counter
    for beta in args.beta:
        sides = ours(beta, args.prompts, args.budgets, now)
        if not args.no_trl and importlib.util.find_spec("trl"):
            sides += trl(beta, args.prompts, args.trl_batches, now)
        for side in sides:
            side.step()
        rounds = [[side.step() for side in sides] for _ in range(args.rounds)]
        report(console, args, beta, sides, rounds)


def made_up(prompts: int) -> TrainBatch:
    """The batch, the same for both sides."""
    draw = random.Random(0)
    sequences: list[TrainSequence] = []
    for group in range(prompts):
        prompt = tuple(draw.randrange(1000, 40_000) for _ in range(PROMPT))
        sequences += [
            TrainSequence(
                prompt_ids=prompt,
                response_ids=tuple(draw.randrange(1000, 40_000) for _ in range(RESPONSE)),
                loss_mask=(True,) * RESPONSE,
                advantage=draw.gauss(0, 1),
                group=group,
            )
            for _ in range(SAMPLES)
        ]
    return TrainBatch(sequences=tuple(sequences))


def ours(beta: float, prompts: int, budgets: list[int], now: Now) -> list[Side]:
    """One trainer, stepped under several settings."""
    objective = PolicyObjective(config=PolicyLossConfig(use_kl_loss=beta > 0, kl_loss_coef=beta))
    trainer = Trainer(TrainerConfig(hf_checkpoint=DEFAULT_MODEL, dtype="float32", device="cpu"))
    batch = made_up(prompts)

    def step(*, budget: int, share: bool = True, old_pass: bool = False) -> Seconds:
        settings = {"max_tokens_per_micro_batch": budget, "share_prompts": share}
        # The passes read their settings at each call.
        trainer._passes._config = trainer.config.model_copy(update=settings)
        begun = now()
        given = batch
        if old_pass:
            found = trainer.logprobs(batch.sequences)
            pairs = zip(batch.sequences, found, strict=True)
            given = TrainBatch(sequences=tuple(replace(s, old_logprobs=o) for s, o in pairs))
        passed = now() - begun
        done = trainer.step(given, objective)
        return {**done.seconds, "old_logprobs": passed, "total": now() - begun}

    best = budgets[0]
    return [
        *(Side(f"ours, {b} tokens a micro-batch", lambda b=b: step(budget=b)) for b in budgets),
        Side(f"ours, {best}, prompts not shared", lambda: step(budget=best, share=False)),
        Side(f"ours, {best}, with a pass for old log-probs", lambda: step(budget=best, old_pass=True)),
    ]


def trl(beta: float, prompts: int, batch_sizes: list[int], now: Now) -> list[Side]:
    """One GRPOTrainer a batch size; each keeps its state between the steps."""
    return [Side(f"TRL, {b} samples a micro-batch", Grpo(beta, prompts, b, now).step, trl=True) for b in batch_sizes]


class Grpo:
    """TRL's trainer over the same batch; one call of ``train`` runs two steps, of which the second is timed."""

    def __init__(self, beta: float, prompts: int, batch_size: int, now: Now) -> None:
        os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
        warnings.simplefilter("ignore")
        from datasets import Dataset
        from transformers import AutoTokenizer, PrinterCallback, TrainerCallback
        from trl import GRPOConfig, GRPOTrainer

        settings = GRPOConfig(
            output_dir=tempfile.mkdtemp(prefix="train-step-"),
            per_device_train_batch_size=batch_size,
            gradient_accumulation_steps=prompts * SAMPLES // batch_size,
            num_generations=SAMPLES,
            max_completion_length=RESPONSE,
            beta=beta,
            learning_rate=1e-6,
            lr_scheduler_type="constant",
            max_steps=2,
            optim="adamw_torch_fused",
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            shuffle_dataset=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            model_init_kwargs={"dtype": "float32", "attn_implementation": "sdpa"},
        )
        folder = str(find_model(DEFAULT_MODEL))
        self.sequences = made_up(prompts).sequences
        self.reference = 0.0
        self.begun = self.total = 0.0
        grpo = self

        class Times(TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                grpo.begun, grpo.reference = now(), 0.0

            def on_step_end(self, *_: Any, **__: Any) -> None:
                grpo.total = now() - grpo.begun

        self.trainer = GRPOTrainer(
            model=folder,
            reward_funcs=lambda completions, **_: [float(i % 3) for i in range(len(completions))],
            args=settings,
            train_dataset=Dataset.from_dict({"prompt": [f"question {i}" for i in range(prompts)]}),
            processing_class=AutoTokenizer.from_pretrained(folder),
            callbacks=[Times()],
            rollout_func=self._rollout,
        )
        self.trainer.remove_callback(PrinterCallback)
        inner = self.trainer._get_per_token_logps_and_entropies

        def timed(*args: Any, **more: Any) -> Any:
            begun = now()
            found = inner(*args, **more)
            if not torch.is_grad_enabled():
                self.reference += now() - begun
            return found

        self.trainer._get_per_token_logps_and_entropies = timed

    def step(self) -> Seconds:
        self.trainer.train()
        return {"reference": self.reference, "total": self.total}

    def _rollout(self, prompts: list[Any], _trainer: Any) -> dict[str, Any]:
        sequences = self.sequences
        assert len(prompts) == len(sequences), f"TRL asks for {len(prompts)} samples, the batch has {len(sequences)}"
        return {
            "prompt_ids": [list(s.prompt_ids) for s in sequences],
            "completion_ids": [list(s.response_ids) for s in sequences],
            "logprobs": None,
        }


def report(
    console: Console, args: argparse.Namespace, beta: float, sides: list[Side], rounds: list[list[Seconds]]
) -> None:
    """Medians over the rounds; the ratio is the median of the rounds' own ratios to the fastest row of TRL."""
    totals = [[r[i]["total"] for r in rounds] for i in range(len(sides))]
    theirs = [i for i, side in enumerate(sides) if side.trl]
    best = min(theirs, key=lambda i: statistics.median(totals[i]), default=None)
    table = Table(
        title=f"seconds of one update, beta {beta:g}, {args.prompts} x {SAMPLES} samples of {PROMPT} + {RESPONSE}\n"
        f"({args.threads} threads, {args.clock} clock, median of {args.rounds} rounds)"
    )
    table.add_column("", no_wrap=True)
    phases = PHASES if args.clock == "wall" else ()
    for phase in (*phases, "total", "÷ best TRL"):
        table.add_column(phase, justify="right")
    for i, side in enumerate(sides):
        values = [[r[i].get(phase) for r in rounds] for phase in phases]
        shown = [f"{statistics.median(v):.2f}" if None not in v else "" for v in values]  # type: ignore[type-var]
        ratio = ""
        if best is not None:
            ratio = f"{statistics.median(a / b for a, b in zip(totals[i], totals[best], strict=True)):.2f}"
        table.add_row(side.name, *shown, f"{statistics.median(totals[i]):.2f}", ratio)
    console.print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beta", type=float, nargs="+", default=[0.0, 0.04])
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--budgets", type=int, nargs="+", default=[340, 680, 1344])
    parser.add_argument("--trl-batches", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--threads", type=int, default=int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--no-trl", action="store_true", help="our rows alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
