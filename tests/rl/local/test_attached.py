"""A run that rolls out on a server of somebody else: it answers with the policy's weights, and lives on afterwards."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from assay.core.errors import StartError
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train
from assay.training.small import save_small
from tests.engines.sglang import conftest as double

OWN = Path(__file__).parents[1] / "own_rewards.py"


def policy(folder: Path) -> Path:
    """A real one, whose configuration has what the double looks for."""
    # The double's tokens are bytes, so that there are more characters than bytes.
    save_small(folder, "".join(map(chr, range(32, 332))), seed=0, hidden=32, layers=1, context=256)
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, "marker": 1}))
    return folder


def config(folder: Path, model: Path, port: int) -> TrainConfig:
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"say {n}"}) + "\n" for n in range(4)))
    return TrainConfig(
        prompt_data=str(prompts),
        label_key=None,
        hf_checkpoint=str(model),
        device="cpu",
        dtype="float32",
        rollout_engine="sglang",
        rollout_attach=port,
        rollout_batch_size=2,
        n_samples_per_prompt=2,
        rollout_max_response_len=4,
        num_rollout=2,
        custom_rm_path=f"{OWN}:length",
        max_dead_steps=0,
        tracker="none",
        run_dir=folder / "run",
    )


def test_steps_are_rolled_out_there_with_the_weights_of_the_step_before(tmp_path: Path) -> None:
    bench = double.Bench(tmp_path)
    model = policy(tmp_path / "policy")
    result = RunResult(run_dir=tmp_path / "run")

    async def main() -> None:
        async with bench.engine(model=str(model)) as owner:
            before = owner.info.weight_version
            await train(config(tmp_path, model, int(owner.url.rpartition(":")[2])), result)
            assert result.done
            assert (await double.ask(owner, double.tokens(4, 5))).weight_version != before
            await owner.update_weights(str(model), "mine again")
            assert (await double.ask(owner, double.tokens(4, 5))).weight_version == "mine again"

    asyncio.run(main())
    published = bench.calls("/update_weights_from_disk")
    assert [Path(body["model_path"]).name for body in published] == ["published"] * 3 + ["policy"]
    versions = [body["weight_version"] for body in published[:3]]
    assert len(set(versions)) == 3, "before the first step, and after each"
    # Two prompts a step, two answers each, in one call or two.
    assert sum(body["sampling_params"].get("n", 1) for body in bench.calls("/generate")) - 2 == 8
    assert not bench.calls("/release_memory_occupation")


def test_a_server_that_is_not_there_is_said_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="no SGLang server answers on port 1"):
        asyncio.run(train(config(tmp_path, policy(tmp_path / "policy"), 1), RunResult(run_dir=tmp_path / "run")))
