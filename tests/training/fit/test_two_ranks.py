"""``assay sft`` and ``assay rm`` under torchrun's variables: two ranks (gloo, FSDP2) make the run of one process."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from assay.tracking.lines import read_lines

from ..words import save_words

WORDS = ["a", "b", "c", "d", "e", "f", "apple", "rust"]


def start(arguments: list[str], size: int) -> list[str]:
    """Run the command on so many ranks; what each printed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    common |= {"WORLD_SIZE": str(size)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "assay", *arguments],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        said = [process.communicate(timeout=250) for process in running]
    finally:
        for process in running:
            process.kill()
    assert [p.returncode for p in running] == [0] * size, "\n".join(error for _, error in said)
    return [out for out, _ in said]


def numbers(run: Path) -> list[dict[str, Any]]:
    shown = ("step", "train/loss", "train/grad_norm", "train/accuracy", "eval/held_out/loss", "eval/held_out/accuracy")
    return [{name: line[name] for name in shown if name in line} for line in read_lines(run / "metrics.jsonl")]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("verb", ["sft", "rm"])
def test_two_ranks_make_the_run_of_one(tmp_path: Path, verb: str) -> None:
    base, data, draw = save_words(tmp_path / "base", WORDS, layers=2), tmp_path / "rows.jsonl", random.Random(0)
    asked = [" ".join(draw.choices(WORDS[:6], k=draw.randint(1, 5))) for _ in range(24)]
    rows = [{"prompt": a, "completion": a, "chosen": f"{a} apple", "rejected": f"rust {a} b"} for a in asked]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = [verb, "--data", str(data), "--hf-checkpoint", str(base), "--lr", "0.01", "--global-batch-size", "7"]
    flags += ["--eval-share", "0.25", "--epochs", "1.5", "--tracker", "none", "--device", "cpu", "--dtype", "float64"]
    flags += ["--max-tokens-per-micro-batch", "40", *(["--kind", "bt"] if verb == "rm" else [])]
    start([*flags, "--run-dir", str(tmp_path / "one")], 1)
    first, second = start([*flags, "--run-dir", str(tmp_path / "two")], 2)
    assert "held-out loss" in first
    assert "loss" not in second, "one rank tells"
    for ours, theirs in zip(numbers(tmp_path / "two"), numbers(tmp_path / "one"), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)
    a, b = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("one", "two"))
    assert a.keys() == b.keys()
    assert max(float((a[name] - b[name]).abs().max()) for name in a) < 1e-5
