"""A run as its files: a made-up one with everything in it, for the tests of what shows runs."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path

from tests.rl.watching import PARSE_ERROR, group, lost, sample, stepped

from assay.rl.record import SampleRecord
from assay.rl.sample import Reward
from assay.tracking.lines import MetricLines

HOSTILE = "</pre><script>alert(1)</script><!--style--> &amp; \u2028 \ud800"


def metrics(step: int) -> dict[str, float]:
    """Of a step of a run that learns."""
    return {
        "reward/mean": 0.2 + 0.6 * (1 - math.exp(-step / 8)),
        "reward/std": 0.4,
        "reward/failed": 0.05,
        "reward/failed_parse_error": 0.05,
        "rollout/failed": 0.025 if step % 2 else 0.0,
        "rollout/samples": 40.0,
        "rollout/response_length": 120.0 - step,
        "rollout/truncated": 0.1,
        "train/kl": 0.001 * step,
        "train/entropy": 2.0 - step / 20,
        "train/grad_norm": 0.5,
        "monitor/agreement": 0.9,
        "monitor/alarms": float(step == 7),
        "time/generate": 4.0,
        "time/train": 3.0,
        "time/save": 1.0,
        "time/sync": 0.5,
        "time/step": 7.5,
    }


def write_run(folder: Path, steps: int = 20, *, text: str = "the answer is 4") -> Path:
    """A run of so many steps, evaluated before the first and every five."""
    lines, record = MetricLines(folder), SampleRecord(folder)
    lines.write(-1, {"eval/aime/pass@1": 0.1, "time/eval": 2.0})
    for step in range(steps):
        found = metrics(step)
        if step % 5 == 4:
            found |= {"eval/aime/pass@1": 0.1 + step / 40, "time/eval": 2.0}
        lines.write(step, found)
    good = replace(sample(Reward(value=1.0, judge="verifier", text=f"because {text}")), response=text)
    bad = replace(sample(0.0, index=1), response=f"not {text}")
    samples = group(good, bad, sample(PARSE_ERROR, index=2), lost(0, 3))
    asyncio.run(record.after(stepped(steps - 1, [samples])))
    (folder / "config.json").write_text(
        json.dumps({"mode": "split", "lr": 1e-6, "genrm_api_key": "hush", "parts": [{"api_key": "hush"}]})
    )
    return folder
