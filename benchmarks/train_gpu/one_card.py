"""``assay train`` on one card with SGLang: beside each other, co-resident with a judge, and defer-swap; one table.

    python -m benchmarks.train_gpu.one_card --judge JUDGE_MODEL_FOLDER --out OUT [--steps 20] [--only co-resident]

The policy is the bundled SmolLM2-135M, the task one- and two-digit sums; the math rule rewards, and in the two shared
layouts a judge model is asked as well (with weight 0, so that the rewards of the three runs are comparable). What each
run says of itself stands in ``OUT/<layout>/metrics.jsonl``; what the planner said of it, before it began, in
``OUT/<layout>.plan.json``, with the speeds of those before. The first layout has no moves and no plan: it measures.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from assay.engines.embedded.weights import find_model

from .prediction import compare, predict, workload

ARGUMENTS = {"sampling_backend": "pytorch", "disable_prefill_cuda_graph": True, "cuda_graph_max_bs_decode": 256}
JUDGED = {
    "right": {"rm_type": "math", "weight": 1.0},
    "judge": {"judge": "tokenprob", "judge_options": {"min_mass": 0.0}, "weight": 1e-4, "required": False},
}
ONE_EACH = {"actor": [1, 1], "rollout": [1, 1], "genrm": [1, 1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", choices=("beside", "co-resident", "defer-swap"))
    parser.add_argument("--limit-s", type=float, default=200.0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    data = _sums(options.out / "sums.jsonl")
    done: list[Path] = []
    for layout in ("beside", "co-resident", "defer-swap"):
        if options.only not in (None, layout):
            continue
        flags = _flags(layout, data, options)
        if layout != "beside":
            _predict(layout, flags, options, done)
        if _run(layout, flags, options):
            done.append(options.out / layout)
    _table(options.out)


def _sums(path: Path) -> Path:
    draw = random.Random(0)
    with path.open("w") as file:
        for _ in range(2000):
            a, b = draw.randrange(2, 60), draw.randrange(2, 60)
            text = f"What is {a} + {b}? Reply with the number alone."
            file.write(json.dumps({"prompt": text, "label": str(a + b)}) + "\n")
    return path


def _flags(layout: str, data: Path, options: argparse.Namespace) -> dict[str, Any]:
    shared = {
        "prompt_data": str(data),
        "apply_chat_template": True,
        "run_dir": str(options.out / layout),
        "rollout_engine": "sglang",
        "rollout_engine_options": {"arguments": ARGUMENTS, "start_timeout_s": 240},
        "sglang_mem_fraction_static": 0.25,
        "num_rollout": options.steps,
        "rollout_batch_size": 32,
        "n_samples_per_prompt": 8,
        "rollout_max_response_len": 16,
        "lr": 1e-5,
        "tracker": "none",
        "max_dead_steps": 0,
    }
    if layout == "beside":
        return {**shared, "rm_type": "math"}
    judges = {
        "colocate": True,
        "resource": ONE_EACH,
        "cluster": "1x1xH200",
        "genrm_model_path": options.judge,
        "genrm_engine": "sglang",
        "genrm_engine_options": {"arguments": ARGUMENTS, "start_timeout_s": 240},
        "genrm_engine_config": {"mem_fraction_static": 0.25, "max_context_len": 4096},
        "reward_parts": JUDGED,
    }
    if layout == "defer-swap":
        judges |= {"defer_reward_to_post_process": True, "rm_type": "dummy"}
    return {**shared, **judges}


def _predict(layout: str, flags: dict[str, Any], options: argparse.Namespace, done: list[Path]) -> None:
    written = options.out / f"{layout}.plan.json"
    predict(flags, find_model("smollm2-135m-instruct"), Path(options.judge), workload(32, 8, 8, 110), written, done)


def _run(layout: str, flags: dict[str, Any], options: argparse.Namespace) -> bool:
    recipe = options.out / f"{layout}.json"
    recipe.write_text(json.dumps(flags))
    code = (
        "import asyncio, json, sys; from pathlib import Path; from assay.rl.config import TrainConfig; "
        "from assay.rl.run import RunResult, train; c = TrainConfig(**json.loads(Path(sys.argv[1]).read_text())); "
        "asyncio.run(train(c, RunResult(run_dir=c.run_dir)))"
    )
    begin = time.monotonic()
    with (options.out / f"{layout}.log").open("wb") as log:
        try:
            done = subprocess.run(
                [sys.executable, "-c", code, str(recipe)], stdout=log, stderr=subprocess.STDOUT, timeout=options.limit_s
            ).returncode
        except subprocess.TimeoutExpired:
            done = -1
    print(f"{layout}: exit {done} after {time.monotonic() - begin:.0f} s", flush=True)
    if done:
        print((options.out / f"{layout}.log").read_text(errors="replace")[-2500:], flush=True)
    return not done and (options.out / layout / "metrics.jsonl").exists()


def _table(out: Path) -> None:
    names = (
        "time/step", "time/generate", "time/judge", "time/train", "time/publish", "time/moves", "time/save",
        "time/sleep/rollout", "time/wake/rollout", "time/sleep/__default__", "time/wake/__default__",
        "memory/sleep/rollout", "memory/sleep/__default__", "memory/wake/rollout", "rollout/response_length",
    )  # fmt: skip
    for path in sorted(out.glob("*/metrics.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        steps = [line for line in lines if line["step"] >= 0]
        rewards = [line["reward/mean"] for line in steps if "reward/mean" in line]
        if not rewards:
            continue
        print(
            f"\n{path.parent.name}: {len(steps)} steps, reward {statistics.fmean(rewards[:3]):.3f} (first 3) -> ",
            end="",
        )
        print(f"{statistics.fmean(rewards[-3:]):.3f} (last 3)")
        for name in names:
            values = [line[name] for line in steps[1:] if name in line]
            if values:
                print(f"  {name:28s} median {statistics.median(values):.4g}")
        written = out / f"{path.parent.name}.plan.json"
        if written.exists():
            print("  " + compare(path.parent, written))


if __name__ == "__main__":
    main()
