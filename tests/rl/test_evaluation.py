from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.rl.batch_scoring import DeferredScoring
from assay.rl.evaluation import EvalConfig, EvalSet, Evaluation, eval_groups, eval_path, eval_sources, load_sets
from assay.rl.prompts import DataConfig, Row
from assay.rl.rollout.config import RolloutConfig

from .watching import Equal, Letters, Parrot, stepped

TRAINING = RolloutConfig(rollout_max_response_len=8, rollout_temperature=1.0, n_samples_per_prompt=4)


def _set(name: str, *rows: tuple[str, str]) -> EvalSet:
    return EvalSet(name=name, rows=tuple(Row(prompt=text, label=label, metadata={}) for text, label in rows))


def _evaluation(
    policy: Parrot, sets: Sequence[EvalSet], run: Path | None = None, steps: int = 10, **config: Any
) -> Evaluation:
    settings = EvalConfig(eval_prompt_data=("sums=sums.jsonl",), **config)
    groups = eval_groups(policy, Letters(), settings, TRAINING, Equal())
    return Evaluation(sets, settings, groups, steps=steps, run=run)


def test_greedy_answers_are_scored(tmp_path: Path) -> None:
    policy = Parrot(lambda prompt, _: {"1+1": "2", "2+2": "5", "3+3": "?", "4+4": None, "5+5": "1" * 20}[prompt])
    sums = _set("sums", ("1+1", "2"), ("2+2", "4"), ("3+3", "6"), ("4+4", "8"), ("5+5", "10"))
    found = asyncio.run(_evaluation(policy, [sums], tmp_path, eval_temperature=0, eval_max_response_len=4).measure(3))
    assert {request.sampling.temperature for request in policy.asked} == {0.0}
    assert {request.sampling.max_new_tokens for request in policy.asked} == {4}
    assert found.pop("time/eval") > 0
    assert found == {
        "eval/sums/prompts": 5.0,
        "eval/sums/answers": 5.0,
        "eval/sums/reward": pytest.approx(1 / 3),
        "eval/sums/avg@1": pytest.approx(1 / 3),
        "eval/sums/pass@1": pytest.approx(1 / 3),
        "eval/sums/failed": pytest.approx(0.4),
        "eval/sums/failed_engine_error": 1.0,
        "eval/sums/failed_parse_error": 1.0,
        "eval/sums/response_length": pytest.approx((1 + 1 + 1 + 4) / 4),
        "eval/sums/truncated": 0.25,
    }
    rows = pq.read_table(eval_path(tmp_path, "sums", 3)).to_pylist()
    assert [row["reward"] for row in rows] == [1.0, 0.0, None, None, 0.0]


def test_several_answers_have_seeds_of_their_own_and_the_same_ones_every_time() -> None:
    policy = Parrot(lambda prompt, time: "2" if time % 4 == 0 else "3")
    evaluation = _evaluation(policy, [_set("sums", ("1+1", "2"))], n_samples_per_eval_prompt=4)
    first = asyncio.run(evaluation.measure(0))
    assert first["eval/sums/pass@1"] == 0.25
    assert first["eval/sums/pass@2"] == 0.5
    assert first["eval/sums/pass@4"] == 1.0
    asyncio.run(evaluation.measure(1))
    seeds = [request.sampling.seed for request in policy.asked]
    assert len(set(seeds[:4])) == 4
    assert seeds[:4] == seeds[4:]


def test_it_is_due_before_the_first_after_the_last_and_every_so_many() -> None:
    policy = Parrot(lambda prompt, _: "2")
    evaluation = _evaluation(policy, [_set("sums", ("1+1", "2"))], steps=7, eval_interval=3)
    done = [step for step in range(7) if asyncio.run(evaluation.after(stepped(step)))]
    assert done == [2, 5, 6]
    assert asyncio.run(evaluation.baseline())["eval/sums/pass@1"] == 1.0
    never = EvalConfig(eval_interval=1)
    assert not any(never.due(made, 3) for made in range(4))
    ends = EvalConfig(eval_prompt_data=("a=b",))
    assert [made for made in range(4) if ends.due(made, 3)] == [0, 3]


def test_rollout_and_judges_that_are_never_awake_together_take_turns() -> None:
    policy = Parrot(lambda prompt, _: "2")
    config = EvalConfig(eval_prompt_data=("sums=x",))
    rolling = eval_groups(policy, Letters(), config, TRAINING, None)
    judging = eval_groups(policy, Letters(), config, TRAINING, Equal())
    said: list[str] = []

    async def enter(phase: Literal["generate", "judge"]) -> None:
        said.append(f"{phase} after {len(policy.asked)}")

    sets = [_set("one", ("1+1", "2")), _set("two", ("1+2", "3"))]
    evaluation = Evaluation(sets, config, rolling, steps=1, scoring=DeferredScoring(judging), enter=enter)
    found = asyncio.run(evaluation.measure(0))
    assert said == ["generate after 0", "judge after 2"]
    assert (found["eval/one/pass@1"], found["eval/two/pass@1"]) == (1.0, 0.0)


def test_what_counts_as_right_is_said() -> None:
    policy = Parrot(lambda prompt, _: "2")
    sums = [_set("sums", ("1+1", "2"), ("1+2", "3"))]
    found = asyncio.run(_evaluation(policy, sums, eval_pass_above=1.0).measure(0))
    assert (found["eval/sums/reward"], found["eval/sums/pass@1"]) == (0.5, 0.0)


@pytest.mark.parametrize(
    "entries",
    [("aime", "a.jsonl", "math", "b.jsonl"), ("aime a.jsonl", "math=b.jsonl"), ("aime=a.jsonl", "math b.jsonl")],
)
def test_sets_are_named_in_pairs(entries: tuple[str, ...]) -> None:
    assert eval_sources(entries) == {"aime": "a.jsonl", "math": "b.jsonl"}


@pytest.mark.parametrize("entries", [("aime",), ("aime=",), ("a=x", "a=y"), ("a/b=x",), ("a", "x", "b")])
def test_names_without_files_are_refused(entries: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="eval_prompt_data"):
        eval_sources(entries)


def test_sets_are_read_by_their_own_keys(tmp_path: Path) -> None:
    path = tmp_path / "sums.jsonl"
    path.write_text(json.dumps({"question": "1+1", "gold": 2}) + "\n")
    config = EvalConfig(eval_prompt_data=(f"sums={path}",), eval_input_key="question", eval_label_key="gold")
    (sums,) = load_sets(config, DataConfig())
    assert (sums.name, sums.prompts[0].prompt, sums.prompts[0].label) == ("sums", "1+1", "2")
    with pytest.raises(InputError, match=r"--eval-prompt-data sums .*--eval-input-key"):
        load_sets(EvalConfig(eval_prompt_data=(f"sums={path}",)), DataConfig())


def test_several_greedy_answers_are_refused() -> None:
    with pytest.raises(ValidationError, match="greedy"):
        EvalConfig(eval_temperature=0, n_samples_per_eval_prompt=4)
