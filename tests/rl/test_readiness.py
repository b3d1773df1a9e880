"""What is wrong with the input of a run is said before a model is loaded, and before anything is written or started."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError, StartError
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train
from tests.rl.tiny import save_tiny

SUM = {"prompt": "1+1=", "label": "2"}


class Loaded(Exception):
    """A model was loaded."""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("policy"))


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def trainer(_: object) -> None:
        raise Loaded

    monkeypatch.setattr("assay.rl.local.place._trainer", trainer)


def rows(path: Path, *of: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in of))
    return path


def config(policy: Path, folder: Path, **more: Any) -> TrainConfig:
    said: dict[str, Any] = {
        "prompt_data": str(rows(folder / "prompts.jsonl", SUM, SUM)),
        "hf_checkpoint": str(policy),
        "device": "cpu",
        "rm_type": "math",
        "rollout_engine_options": {"threads": 1},
        "tracker": "none",
        "run_dir": folder / "run",
    }
    return TrainConfig(**said | more)


def go(config: TrainConfig) -> None:
    asyncio.run(train(config, RunResult(run_dir=config.run_dir)))


def refused(config: TrainConfig) -> str:
    with pytest.raises(InputError) as caught:
        go(config)
    return str(caught.value)


def test_a_run_that_is_well_loads_its_models(policy: Path, tmp_path: Path) -> None:
    held = rows(tmp_path / "held.jsonl", SUM)
    with pytest.raises(Loaded):
        go(config(policy, tmp_path, eval_prompt_data=(f"held={held}",), monitor_interval=1))


@pytest.mark.parametrize("flag", ["rollout_max_response_len", "eval_max_response_len"])
def test_an_answer_that_can_never_fit_is_refused(policy: Path, tmp_path: Path, flag: str) -> None:
    held = f"held={rows(tmp_path / 'held.jsonl', SUM)}"
    said = refused(config(policy, tmp_path, eval_prompt_data=(held,), **{flag: 64}))
    assert (
        said == f"--{flag.replace('_', '-')} 64 can never fit: the policy takes 64 tokens, prompt and answer together"
    )


def test_an_answer_that_fits_behind_some_prompts_only_is_said_once(
    policy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    longer = rows(tmp_path / "longer.jsonl", SUM, {"prompt": "1+1+1+1=", "label": "4"})
    with pytest.raises(Loaded):
        go(config(policy, tmp_path, prompt_data=str(longer), rollout_max_response_len=60))
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("--rollout-max-response-len 60 has no room behind 1 of 2 prompts")
    assert "up to 8 tokens: the policy takes 64" in told
    caplog.clear()
    with pytest.raises(Loaded):
        go(config(policy, tmp_path, prompt_data=str(longer), rollout_max_response_len=56))
    assert not caplog.records


@pytest.mark.parametrize(
    ("content", "keys", "said"),
    [
        (None, {}, "no such file: "),
        ("", {}, " is empty: it must hold at least one row"),
        ("\n", {}, " holds no prompts"),
        ('{"prompt": ', {}, ", line 1: broken JSON"),
        ('{"question": "1+1=", "label": "2"}', {}, ", line 1: the field 'prompt' (--eval-input-key) is not there; "),
        (
            json.dumps(SUM),
            {"eval_input_key": "q"},
            ", line 1: the field 'q' (--eval-input-key) is not there; there are",
        ),
        (
            json.dumps(SUM),
            {"eval_metadata_key": "prompt"},
            ", line 1: 'prompt' (--eval-metadata-key) must be an object, got '1+1='",
        ),
        ('{"prompt": "\\ud83d", "label": "2"}', {}, ", line 1: 'prompt' holds half of a surrogate pair"),
    ],
)
def test_an_eval_set_that_cannot_be_read(
    policy: Path, tmp_path: Path, content: str | None, keys: dict[str, Any], said: str
) -> None:
    held = tmp_path / "held.jsonl"
    if content is not None:
        held.write_text(content)
    told = refused(config(policy, tmp_path, eval_prompt_data=(f"held={held}",), **keys))
    assert told.startswith("--eval-prompt-data held ")
    assert repr(str(held)) in told
    assert said in told
    assert not (tmp_path / "run").exists()


def test_an_eval_set_without_what_the_reward_needs(policy: Path, tmp_path: Path) -> None:
    held = rows(tmp_path / "held.jsonl", SUM, {"prompt": "1+1=", "answer": "2"})
    told = refused(config(policy, tmp_path, eval_prompt_data=(f"held={held}",)))
    assert told.startswith(f"--eval-prompt-data held {str(held)!r}, line 2: item 'prompt 3' has no reference")
    assert told.endswith(
        "Its label: the field 'label' (--eval-label-key) is not there; there are prompt, answer; "
        "did you mean --eval-label-key answer?"
    )


def test_judges_of_the_run_itself_are_asked_no_earlier_and_their_prompts_checked_all_the_same(
    policy: Path, tmp_path: Path
) -> None:
    judge = {"genrm_instances": {"main": {"model_path": str(policy), "num_gpus": 1}}, "rm_type": "dapo-genrm"}
    with pytest.raises(Loaded):
        go(config(policy, tmp_path, **judge))
    path = rows(tmp_path / "bare.jsonl", {"prompt": "1+1="})
    told = refused(config(policy, tmp_path, **judge | {"prompt_data": str(path)}))
    assert told.startswith(f"--prompt-data {str(path)!r}, line 1: item 'prompt 0' has no reference")
    told = refused(config(policy, tmp_path, **judge | {"route_key": "other"}))
    assert "no judge runs under route_key='other'; there are " in told


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (None, "no such file: "),
        ({"prompt": "1+1=", "answer": "2"}, "has no field that is known to be the "),
        ({"prompt": "1+1=", "candidates": ["2", "3"], "gold": [1, "perhaps"]}, ", line 2: "),
    ],
)
def test_a_gold_set_that_cannot_be_used(policy: Path, tmp_path: Path, row: Mapping[str, Any] | None, said: str) -> None:
    gold = tmp_path / "gold.jsonl"
    if row is not None:
        whole = [{"prompt": "1+2=", "candidates": ["2", "3"], "gold": [0, 1]}] if "gold" in row else []
        rows(gold, *whole, row)
    told = refused(config(policy, tmp_path, monitor_interval=1, monitor_gold=gold))
    assert told.startswith("--monitor-gold ")
    assert str(gold) in told
    assert said in told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rollout_engine_options": {"thread": 1}}, "--rollout-engine-options: .*thread: there is no such option"),
        ({"rollout_engine_options": {"threads": True}}, "--rollout-engine-options: .*must be a whole number"),
        ({"weight_sync": "nccl"}, "--weight-sync nccl: .*fix: --weight-sync auto"),
        ({"load": "nowhere"}, "--load: there is no checkpoint in 'nowhere'"),
        ({"ref_load": "./nowhere"}, "--ref-load: model './nowhere': there is no such folder"),
        ({"monitor_interval": 1, "monitor_judge": "nobody"}, "nobody"),
        ({"judge": "nobody", "rm_type": None}, "nobody"),
        ({"custom_rm_path": "nowhere.fn", "rm_type": None}, "--custom-rm-path: cannot import 'nowhere'"),
        (
            {"genrm_model_path": "./nowhere", "genrm_num_gpus": 1, "rm_type": "dapo-genrm"},
            "--genrm-model-path, judge .*: model './nowhere': there is no such folder",
        ),
        (
            {
                "genrm_model_path": "./nowhere",
                "genrm_num_gpus": 1,
                "rm_type": "dapo-genrm",
                "genrm_engine_options": {"thread": 1},
            },
            "--genrm-engine-options, judge .*: .*thread: there is no such option",
        ),
    ],
)
def test_parts_that_cannot_be_had(policy: Path, tmp_path: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        go(config(policy, tmp_path, **more))


def test_sglang_that_is_not_there(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"no/python' cannot be run .*: name an interpreter with SGLang"):
        go(config(policy, tmp_path, rollout_engine="sglang", rollout_engine_options={}, sglang_python="/no/python"))


def test_a_prompt_that_the_policy_has_no_room_for_and_one_that_its_template_refuses(
    policy: Path, tmp_path: Path
) -> None:
    long = rows(tmp_path / "long.jsonl", SUM, {"prompt": "1+" * 40, "label": "1"})
    told = refused(config(policy, tmp_path, prompt_data=str(long)))
    assert told.startswith(f"--prompt-data {str(long)!r}, line 2: the prompt has 80 tokens, and the policy's context")
    told = refused(config(policy, tmp_path, eval_prompt_data=(f"held={long}",)))
    assert told.startswith(f"--eval-prompt-data held {str(long)!r}, line 2: the prompt has 80 tokens")
    told = refused(config(policy, tmp_path, rollout_max_prompt_len=3))
    assert told.endswith("prompts.jsonl': no prompt has at most 3 tokens (--rollout-max-prompt-len)")
    chat = rows(tmp_path / "chat.jsonl", {"prompt": [{"role": "user", "content": "1+1="}], "label": "2"})
    told = refused(config(policy, tmp_path, prompt_data=str(chat)))
    assert told.startswith(f"--prompt-data {str(chat)!r}, line 1: the policy's tokenizer has no chat template")


def test_steps_that_the_metadata_of_a_prompt_lack(policy: Path, tmp_path: Path) -> None:
    more = {"rm_type": None, "step_judges": {"*": {"judge": "math"}}}
    told = refused(config(policy, tmp_path, **more))
    assert "line 1: sample 0/0: metadata['trajectory_steps'] must be a list of steps" in told
    step = {"module": "calculator", "response": "2"}
    path = rows(tmp_path / "steps.jsonl", {**SUM, "metadata": {"trajectory_steps": [step]}})
    told = refused(config(policy, tmp_path, **more, prompt_data=str(path)))
    assert "line 1: item '0/0 step 1' has no reference" in told
    path = rows(tmp_path / "steps.jsonl", {**SUM, "metadata": {"trajectory_steps": [{**step, "label": "2"}]}})
    with pytest.raises(Loaded):
        go(config(policy, tmp_path, **more, prompt_data=str(path)))
