"""TRL's own trainers on a tiny random model: what they sampled is given, the rest is their code.

A batch is 8 prompts' worth of samples, two groups of 4, of unequal length: prompts are padded on
the left and answers on the right, as TRL does it. Between sampling and the loss the weights move, so that ratios differ
from 1; the reference and the engine that "sampled" differ from both.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

VOCABULARY, GROUP, BATCH, LIMIT, TEMPERATURE, BETA = 17, 4, 8, 6, 0.9, 0.1


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What was sampled: ids of prompts and answers, rewards (None = failed), trained tokens, the engine's log-probs."""

    prompts: list[list[int]]
    answers: list[list[int]]
    rewards: list[float | None]
    trained: list[list[int]] | None
    engine: list[list[float]]


def scene(*, masked: bool, failed: bool = False) -> Scene:
    """``masked``: some answer tokens (a tool's, say) are not trained on, and of one answer only a single one is."""
    draw = random.Random(11)
    prompts = [[draw.randrange(2, VOCABULARY) for _ in range(length)] for length in (2, 5) for _ in range(GROUP)]
    lengths = [draw.randint(1, LIMIT) for _ in range(BATCH - 2)] + [LIMIT, 2]
    answers = [[draw.randrange(2, VOCABULARY) for _ in range(length)] for length in lengths]
    trained = [[int(draw.random() < 0.6 or place == 0) for place in range(length)] for length in lengths]
    trained[6] = [0, 0, 1, 0, 0, 0]
    rewards: list[float | None] = [1.0, 0.25, 0.0, 0.5, 0.0, 1.0, 1.0, -0.5]
    if failed:
        rewards[2] = rewards[5] = None
    engine = [[-2.8 + 1.2 * (draw.random() - 0.5) for _ in range(length)] for length in lengths]
    return Scene(prompts=prompts, answers=answers, rewards=rewards, trained=trained if masked else None, engine=engine)


def make_model(folder: Path) -> Any:
    """A random Llama of two layers in ``folder``, loaded from it, so that a trainer can load it again as reference."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.3,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder)


def make_trainer(trainer: Any, config: Any, folder: Path, **options: Any) -> Any:
    """A TRL trainer of the class ``trainer`` for the model of ``make_model``; ``options`` go to its config."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {f"t{i}": i for i in range(VOCABULARY)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t2")),
        pad_token="t0",
        eos_token="t1",
        unk_token="t2",
    )
    made = trainer(
        model=make_model(folder / "model"),
        reward_funcs=_no_reward,
        args=config(
            output_dir=str(folder / "out"),
            use_cpu=True,
            bf16=False,
            report_to="none",
            per_device_train_batch_size=BATCH,
            num_generations=GROUP,
            num_iterations=2,  # so that the log-probs before the update are computed
            max_completion_length=LIMIT,
            temperature=TEMPERATURE,
            beta=BETA,
            activation_checkpointing=False,
            **options,
        ),
        train_dataset=Dataset.from_dict({"prompt": ["t4 t5"] * BATCH}),
        processing_class=tokenizer,
    )
    made.current_gradient_accumulation_steps = 1
    made.model.train()
    return made


def _no_reward(completions: list[Any], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def run_trl(trainer: Any, play: Scene, sampled: tuple[Any, ...]) -> tuple[dict[str, Tensor], Tensor, list[Tensor]]:
    """TRL's tensors of the batch, its loss and its gradient; ``sampled`` is what its generation is said to return."""
    nan = float("nan")
    rewards = torch.tensor([[nan if reward is None else reward] for reward in play.rewards])
    trainer._generate = lambda prompts: sampled
    trainer._calculate_rewards = lambda *_: rewards
    trainer._metrics["train"].clear()
    reset(trainer.model, trainer.ref_model, seed=1)
    batch = trainer._generate_and_score_completions([{"prompt": "t4 t5"} for _ in range(BATCH)])
    move(trainer.model, seed=2)
    loss = trainer._compute_loss(trainer.model, batch)
    return batch, loss.detach(), gradient(loss, trainer.model)


def reset(model: Any, reference: Any, seed: int) -> None:
    """The weights of the reference, moved a little: the same before every case."""
    model.load_state_dict(reference.state_dict())
    move(model, seed)


def move(model: Any, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.03 * torch.randn(parameter.shape, generator=draw)


def gradient(loss: Tensor, model: Any) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters())))
