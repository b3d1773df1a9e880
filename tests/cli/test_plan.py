from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.placement import load_plan

CONFIG = {
    "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "tie_word_embeddings": True,
}  # fmt: skip
SPLIT = (
    "--colocate", "--resource", '{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}',
    "--genrm-model-path", "judge", "--genrm-num-gpus-per-engine", "4",
    "--genrm-engine-config", '{"max_context_len": 10240}',
)  # fmt: skip


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str, verb: str = "plan"
) -> tuple[int, str, str]:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("sys.argv", ["assay", verb, *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def test_placement_alone_needs_no_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(monkeypatch, capsys, *SPLIT, "--rm-type", "dapo-genrm")
    assert (code, err) == (0, "")
    assert "split on 1x8xH200" in out
    assert [line.split()[1:3] for line in out.splitlines() if line.startswith("rollout")] == [["0–3", "4"]]
    assert "one step, predicted" not in out


def test_everything_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    judge = ("--model-config", str(config), "--judge-config", str(config / "config.json"))
    work = ("--workload", '{"prompts": 4, "samples": 2, "response_tokens": 50, "judge": {"response_tokens": 8}}')
    code, out, _ = run(monkeypatch, capsys, *SPLIT, *judge, *work, "--host-memory-gib", "512")
    assert code == 0
    for told in ("memory, GiB", "host 0", "one step, predicted", "GPUs idle", "as given", "defer-swap"):
        assert told in out


def test_json_is_the_plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path) -> None:
    code, out, _ = run(monkeypatch, capsys, *SPLIT, "--model-config", str(config), "--json")
    assert code == 0
    plan = load_plan(json.loads(out))
    assert plan.claims["__default__"].engines == ((4, 5, 6, 7),)
    assert plan.prediction is not None


RECIPE = """
prompt-data = "questions.jsonl"
hf-checkpoint = "{policy}"
cluster = "2x8xH100"
colocate = true
resource = {{ actor = [2, 8], rollout = [1, 8], genrm = [1, 8] }}
genrm-model-path = "judge"
genrm-num-gpus-per-engine = 8
rm-type = "dapo-genrm"
rollout-batch-size = 3
n-samples-per-prompt = 5
rollout-max-response-len = 500
lr = 1e-5
"""


def test_a_recipe_of_training_is_planned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    recipe = config / "recipe.toml"
    recipe.write_text(RECIPE.format(policy=config))
    code, out, err = run(monkeypatch, capsys, "-c", str(recipe), "--json")
    assert (code, err) == (0, "")
    plan = load_plan(json.loads(out))
    assert (plan.mode, plan.cluster) == ("split", "2x8xH100")
    assert plan.claims["__default__"].gpus == tuple(range(8, 16))
    assert plan.prediction is not None, "the policy's folder says how large it is"
    changed = ("--workload", '{"response_tokens": 50}', "--cluster", "2x8xH200")
    code, out, _ = run(monkeypatch, capsys, "-c", str(recipe), "--json", *changed)
    quicker = load_plan(json.loads(out))
    assert (code, quicker.cluster) == (0, "2x8xH200")
    assert quicker.prediction is not None
    assert quicker.prediction.phases["rollout"] < plan.prediction.phases["rollout"]


def test_what_dump_config_prints_is_planned_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    recipe, dumped = config / "recipe.toml", config / "dumped"
    recipe.write_text(RECIPE.format(policy="policy"))
    code, told, _ = run(monkeypatch, capsys, "-c", str(recipe), "--dump-config", "--lr", "2e-5", verb="train")
    assert (code, json.loads(told)["lr"]) == (0, 2e-5)
    dumped.write_text(told)
    plans = [run(monkeypatch, capsys, "-c", str(one), "--json")[1] for one in (recipe, dumped)]
    assert plans[0] == plans[1]


def test_a_recipe_that_places_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    recipe = tmp_path / "laptop.toml"
    recipe.write_text('prompt-data = "questions.jsonl"\nrm-type = "math"\n')
    code, _, err = run(monkeypatch, capsys, "-c", str(recipe))
    assert code == 2
    assert "runs in one process and places nothing on GPUs" in err


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_a_picture_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path, ending: str
) -> None:
    target = config / "out" / f"plan.{ending}"
    code, _, _ = run(monkeypatch, capsys, *SPLIT, "--model-config", str(config), "--gantt", str(target))
    assert code == 0
    assert target.stat().st_size > 500


def test_a_command_that_trains_can_be_pasted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    instances = '{"quality": {"model_path": "q", "num_gpus": 2}, "safety": {"model_path": "s", "num_gpus": 2}}'
    code, out, _ = run(
        monkeypatch, capsys, "--genrm-instances", instances, "--rollout-num-gpus", "4", "--colocate",
        "--resource", '{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}', "--custom-rm-path", "a.b",
        "--reward-key", "score",
    )  # fmt: skip
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith(("quality", "safety"))] == ["4–5", "6–7"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--colocate", "--resource", '{"actor": [1, 8]'), "resource: not JSON"),
        (("--colocate", "--resource", '{"actor": [1, 8], "rollout": [1, 9]}'), "actor 8, rollout 9, genrm 0"),
        ((*SPLIT, "--fully-async"), "exclude each other"),
        ((*SPLIT, "--workload", '{"promts": 1}'), "workload.promts: there is no such option"),
        ((*SPLIT, "--cluster", "8"), "write nodes x GPUs x card"),
        ((*SPLIT, "--model-config", "/nowhere/config.json"), "cannot read the configuration of 'policy'"),
        ((*SPLIT, "--gantt", "plan.png"), "needs a prediction: give --model-config"),
        (("-c", "/nowhere.toml"), "recipe '/nowhere.toml' cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


def test_a_judge_that_there_is_none_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    given = ("--model-config", str(config), "--judge-config", f"quality={config}")
    code, _, err = run(monkeypatch, capsys, *SPLIT, *given)
    assert code == 2
    assert "no judge has the route key 'quality'; configured: __default__" in err


def test_speeds_come_from_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    step = {"time/generate": 2.0, "time/train": 1.5, "time/publish": 0.25, "rollout/response_length": 16.0}
    lines = "".join(json.dumps({"step": n, "train/loss": None, **step}) + "\n" for n in range(3))
    (config / "metrics.jsonl").write_text(lines + '{"step": 3, "time/gen')  # the run goes on
    asked = (*SPLIT, "--model-config", str(config), "--rates-from", str(config), "--json")
    code, out, err = run(monkeypatch, capsys, *asked, "--rates", '{"sync_s": 9}')
    assert (code, err) == (0, "")
    plan = load_plan(json.loads(out))
    assert plan.prediction is not None
    assert plan.prediction.phases["train"] == pytest.approx(1.5)
    assert plan.prediction.phases["weights to the rollout"] == 9  # what --rates says wins


def test_a_run_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    code, _, err = run(monkeypatch, capsys, *SPLIT, "--model-config", str(config), "--rates-from", str(config / "no"))
    assert code == 2
    assert "--rates-from" in err
    assert "No such file" in err
