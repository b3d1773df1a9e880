"""Whole runs of ``assay sft``: what they leave, that they go on after a kill, and what they refuse."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from assay.core.errors import InputError
from assay.tracking.lines import read_lines
from assay.training.fit.loop import FitResult
from assay.training.fit.run import Fitted, run_fit
from assay.training.sft.config import SftConfig
from assay.training.sft.task import load_task

from ..words import save_words

WORDS = ["a", "b", "c", "d", "e", "f"]


def rows(count: int = 60) -> list[dict[str, Any]]:
    """Words to sort."""
    draw = random.Random(0)
    asked = [draw.choices(WORDS, k=3) for _ in range(count)]
    return [{"prompt": " ".join(words), "completion": " ".join(sorted(words))} for words in asked]


def config(folder: Path, **settings: Any) -> SftConfig:
    folder.mkdir(parents=True, exist_ok=True)
    model, data = folder.parent / "model", folder.parent / "rows.jsonl"
    if not model.exists():
        save_words(model, WORDS)
        data.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    flags: dict[str, Any] = {"lr": 1e-2, "global_batch_size": 8, "epochs": 2, "eval_share": 0.2, "tracker": "none"}
    own = {"data": str(data), "hf_checkpoint": str(model), "run_dir": folder / "run"}
    return SftConfig(**own | flags | settings)


def run(own: SftConfig) -> FitResult:
    result = FitResult()
    run_fit(own, lambda: Fitted(task=load_task(own)), result)
    return result


def numbers(own: SftConfig) -> list[dict[str, Any]]:
    lines = read_lines(own.run_dir / "metrics.jsonl")
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


def weights(own: SftConfig) -> dict[str, torch.Tensor]:
    return load_file(own.run_dir / "model" / "model.safetensors")


def test_a_run_learns_and_leaves_a_model(tmp_path: Path) -> None:
    own = config(tmp_path / "a", epochs=8)
    result = run(own)
    lines = numbers(own)
    assert [line["step"] for line in lines] == list(range(-1, result.total or 0))
    assert set(lines[0]) == {"step", "eval/held_out/loss", "eval/held_out/perplexity"}
    assert lines[-1]["eval/held_out/loss"] < lines[0]["eval/held_out/loss"] - 1
    assert {"train/loss", "train/nll", "train/grad_norm", "train/lr", "train/epoch"} <= set(lines[1])
    rates = [line["train/lr"] for line in lines[1:]]
    assert rates[0] == 1e-2
    assert rates == sorted(rates, reverse=True)
    assert AutoModelForCausalLM.from_pretrained(own.run_dir / "model").config.vocab_size == 11


def test_a_run_in_many_calls_is_the_run_in_one(tmp_path: Path) -> None:
    whole = config(tmp_path / "whole", lora_rank=2)
    assert run(whole).done
    parts = config(tmp_path / "parts", lora_rank=2, stop_after_minutes=1e-9)
    for made in range(1, (run_total := len(numbers(whole)) - 1) + 1):
        result = run(parts)
        assert (result.updates, result.done) == (made, made == run_total)
    assert numbers(parts) == numbers(whole)
    assert all(torch.equal(value, weights(whole)[name]) for name, value in weights(parts).items())
    assert not torch.equal(weights(whole)["model.norm.weight"], torch.zeros(1))


# peft asks transformers by a name that is on its way out.
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")
def test_the_adapter_on_the_base_is_the_merged_model(tmp_path: Path) -> None:
    from peft import PeftModel

    own = config(tmp_path / "a", lora_rank=2, adapter_dtype="float32")
    run(own)
    said = json.loads((own.run_dir / "adapter" / "adapter_config.json").read_text())
    assert (said["r"], said["lora_alpha"], said["base_model_name_or_path"]) == (2, 4, own.hf_checkpoint)
    base = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    model: Any = PeftModel.from_pretrained(base, str(own.run_dir / "adapter"))
    merged = AutoModelForCausalLM.from_pretrained(own.run_dir / "model")
    ids = torch.tensor([[3, 5, 6, 2, 4]])
    with torch.no_grad():
        plain = AutoModelForCausalLM.from_pretrained(tmp_path / "model")(input_ids=ids).logits
        theirs, ours = model(input_ids=ids).logits, merged(input_ids=ids).logits
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=0)
    assert float((plain - ours).abs().max()) > 1e-2


def test_time_ends_a_run_and_rules_its_rate(tmp_path: Path) -> None:
    own = config(tmp_path / "a", epochs=None, minutes=0.02, lr_decay_style="linear", lr_warmup_minutes=0.004)
    result = run(own)
    rates = [line["train/lr"] for line in numbers(own)[1:]]
    assert result.done
    assert result.total is None
    assert max(rates) <= 1e-2
    assert rates[-1] < max(rates)
    assert run(own).updates == result.updates, "it is over"


def test_other_settings_or_other_data_are_another_run(tmp_path: Path) -> None:
    own = config(tmp_path / "a", stop_after_minutes=1e-9)
    run(own)
    with pytest.raises(InputError, match=r"holds a run with lr=0.01 instead of 0.5"):
        run(own.model_copy(update={"lr": 0.5}))
    Path(own.data).write_text("".join(json.dumps(row) + "\n" for row in reversed(rows())))
    with pytest.raises(InputError, match="the data is not what this run began with"):
        run(own)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_killed_at_any_moment_it_is_the_same_run(tmp_path: Path) -> None:
    whole = config(tmp_path / "whole", epochs=6, save_interval=3)
    run(whole)
    killed = config(tmp_path / "killed", epochs=6, save_interval=3)
    flags = ["--save-interval", "3", "--epochs", "6", "--lr", "0.01", "--global-batch-size", "8"]
    flags += ["--eval-share", "0.2", "--tracker", "none", "--run-dir", str(killed.run_dir)]
    command = [sys.executable, "-m", "assay", "sft", "--data", killed.data, "--hf-checkpoint", killed.hf_checkpoint]
    metrics = killed.run_dir / "metrics.jsonl"
    for until in (2, 11, 17):
        process = subprocess.Popen([*command, *flags], env={**os.environ, "OMP_NUM_THREADS": "1"})
        deadline = time.monotonic() + 90
        while process.poll() is None and time.monotonic() < deadline:
            if metrics.exists() and len(read_lines(metrics)) > until:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
    done = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert numbers(killed) == numbers(whole)
    assert all(torch.equal(value, weights(whole)[name]) for name, value in weights(killed).items())
