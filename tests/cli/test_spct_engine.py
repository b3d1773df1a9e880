"""Who answers for the stages: one server for a whole call, with each stage's weights, over the double of SGLang."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.engines.sglang import conftest as double

from assay.cli.spct_engine import Answers
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Completion
from assay.engines.catalog import build_engine, engine_config
from assay.engines.model_files import weight_version
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.spct.pipeline.recipe import EngineRecipe


def recipe(bench: double.Bench, **more: Any) -> EngineRecipe:
    env = {"PYTHONPATH": str(double.HERE / "standin"), "DOUBLE_DIR": str(bench.folder)}
    options = {"python": sys.executable, "env": env, "stop_s": 2, "start_timeout_s": 60} | more
    return EngineRecipe(kind="sglang", options=options, concurrency=8)


def value(words: Sequence[str], flag: str) -> str:
    return words[words.index(flag) + 1]


async def answer(words: Sequence[str]) -> Completion:
    """What a command with these words would get."""
    options = {"base_url": value(words, "--url"), "model": value(words, "--model")}
    engine = build_engine(engine_config("openai", {**options, **json.loads(value(words, "--engine-options"))}))
    await engine.start()
    try:
        return (await engine.generate(double.chat(), Deadline.after(20)))[0]
    finally:
        await engine.close()


def test_each_stage_finds_its_weights_on_the_one_server(tmp_path: Path) -> None:
    bench = double.Bench(tmp_path)
    other = double.write_model(tmp_path / "other", marker=3)

    async def main() -> None:
        answers = Answers(recipe(bench), str(bench.model), tmp_path / "server.log")
        answers.begin()
        try:
            assert await answers.words("no", "") == ()
            base = await answers.words("samples", str(bench.model))
            assert value(base, "--model") == str(bench.model.resolve())
            first = await answer(base)
            assert first.weight_version == weight_version(bench.model)
            assert not bench.calls("/update_weights_from_disk"), "it was started with these"
            tuned = await answers.words("samples", str(other))
            assert value(tuned, "--url") == value(base, "--url")
            assert value(tuned, "--model") == str(other.resolve()), "a load renames what is served"
            second = await answer(tuned)
            assert (second.weight_version, second.text == first.text) == (weight_version(other), False)

            rolls = await answers.words("rolls", str(other))
            guest = SGLangEngine(
                SGLangConfig(model=str(bench.model), attach=int(value(rolls, "--rollout-attach"))), bench.cards
            )
            await guest.start()
            await guest.update_weights(str(bench.model), "trained")
            await guest.close()
            again = await answer(await answers.words("samples", str(other)))
            assert again.text == second.text, "loaded again, for the run before left its own"
        finally:
            await answers.close()

    asyncio.run(main())
    assert len(bench.calls("/update_weights_from_disk")) == 3


def test_a_server_that_is_still_starting_is_no_fault(tmp_path: Path) -> None:
    bench = double.Bench(tmp_path)
    slow = {"PYTHONPATH": str(double.HERE / "standin"), "DOUBLE_DIR": str(bench.folder), "DOUBLE_START": "hang"}

    async def main() -> None:
        answers = Answers(recipe(bench, env=slow), str(bench.model), tmp_path / "server.log")
        answers.begin()
        try:
            await double.until(lambda: "Load weight begin." in log(tmp_path), 30)
            assert await answers.words("no", "") == ()
            assert await answers.fault() is None, "a stage that asks nothing was done before the server"
        finally:
            await answers.close()

    asyncio.run(main())


def test_a_server_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    bench = double.Bench(tmp_path)

    async def main() -> None:
        answers = Answers(recipe(bench), str(bench.model), tmp_path / "server.log")
        try:
            await answers.words("samples", str(bench.model))
            assert await answers.fault() is None
            scheduler = next(iter(json.loads(bench.cards.file.read_text())["held"]))
            os.kill(int(scheduler), signal.SIGKILL)
            await asyncio.sleep(0.1)
            assert await answers.fault()
        finally:
            await answers.close()

    asyncio.run(main())


def log(folder: Path) -> str:
    path = folder / "server.log"
    return path.read_text("utf-8") if path.exists() else ""


def test_an_engine_of_each_command_is_given_the_model_as_it_is() -> None:
    async def words(asks: Any, **more: Any) -> tuple[str, ...]:
        return await Answers(EngineRecipe(**more), "base", Path("log")).words(asks, "folder")

    own = asyncio.run(words("samples", options={"threads": 1}))
    assert own == (
        *("--engine", "embedded", "--model", "folder", "--adapter", "none"),
        *("--engine-options", '{"threads": 1}', "--concurrency", "32"),
    )
    assert asyncio.run(words("rolls", options={"threads": 1})) == ("--rollout-engine-options", '{"threads": 1}')
    assert asyncio.run(words("rolls", kind="fake", options={"replies": ["x"]})) == ()


def test_wrong_options_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="mem_fraction_static"):
        Answers(EngineRecipe(kind="sglang", options={"mem_fraction_static": 2}), "base", Path("log"))
    named = {"arguments": {"served_model_name": "mine"}}
    with pytest.raises(InputError, match="served_model_name cannot be set: every load renames the model"):
        Answers(EngineRecipe(kind="sglang", options=named), "base", Path("log"))
