"""Who answers for the stages of ``assay spct``: the words of each command about its engine, and the one SGLang server.

A server takes a minute or two to start, so that one is started for a whole call, in the background, and each stage's
weights are loaded into it. Every load has a version, which stands in all that is recorded.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from assay.core.errors import GenerationError, InputError, StartError
from assay.engines.catalog import engine_config
from assay.engines.embedded.finding import find_model
from assay.engines.model_files import weight_version
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.spct.pipeline.recipe import EngineRecipe
from assay.spct.pipeline.stage import Asks

from .showing import say


class Answers:
    """Belongs to one event loop.

    Args:
        base: the model that the server starts with; all others have weights of the same shapes.
        log_file: of the server.
    """

    def __init__(self, recipe: EngineRecipe, base: str, log_file: Path) -> None:
        self._recipe, self._base, self._log_file = recipe, base, log_file
        self._engine: SGLangEngine | None = None
        self._starting: asyncio.Task[None] | None = None
        self._loaded: str | None = None
        """The version that the server surely has."""
        # What is wrong with the options is said before anything is run.
        engine_config(recipe.kind, {"model": base, **recipe.options})
        if "served_model_name" in recipe.options.get("arguments", {}):
            raise InputError("engine.options.arguments.served_model_name cannot be set: every load renames the model")

    def begin(self) -> None:
        """Start the server, if there is to be one; it is waited for where it is needed."""
        if self._recipe.kind == "sglang" and self._starting is None:
            self._starting = asyncio.create_task(self._start())

    async def words(self, asks: Asks, model: str) -> tuple[str, ...]:
        """The flags of a command about its engine, which has the model's weights when this returns.

        Raises:
            InputError, StartError: no such model, or the server could not be had.
        """
        if asks == "no":
            return ()
        if self._recipe.kind != "sglang":
            return self._own(asks, model)
        self.begin()
        assert self._starting is not None
        await asyncio.shield(self._starting)
        assert self._engine is not None
        port = self._engine.url.rpartition(":")[2]
        if asks == "rolls":
            self._loaded = None  # The run loads its own, many times.
            return ("--rollout-engine", "sglang", "--rollout-attach", port)
        folder = await asyncio.to_thread(_located, model)
        version = await self._load(self._engine, model, folder)
        # SGLang would take what is not said from the model's own generation_config.json.
        said = {"min_p": 0.0, "repetition_penalty": 1.0}
        wire: dict[str, Any] = {"weight_version": version, "supports_seed": False, "extra_body": said}
        wire["max_concurrency"] = self._recipe.concurrency
        return (
            *("--engine", "openai", "--url", f"{self._engine.url}/v1", "--model", str(folder)),
            *("--engine-options", json.dumps(wire), "--concurrency", str(self._recipe.concurrency)),
        )

    async def fault(self) -> str | None:
        """What is wrong with the server; None where it is well, or there is none, or it is not there yet."""
        if self._engine is None or self._starting is None or not self._starting.done():
            return None
        health = await self._engine.health()
        return None if health.healthy else health.error or health.state

    async def close(self) -> None:
        """End the server."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._engine is not None:
            await self._engine.close()

    def _own(self, asks: Asks, model: str) -> tuple[str, ...]:
        kind, options = self._recipe.kind, self._recipe.options
        said = json.dumps(options)
        if asks == "rolls":
            return ("--rollout-engine-options", said) if options and kind == "embedded" else ()
        given = ("--engine-options", said) if options else ()
        # The model as it is: the bundled one would otherwise judge with the adapter of the package.
        bare = ("--adapter", "none") if kind == "embedded" else ()
        return ("--engine", kind, "--model", model, *bare, *given, "--concurrency", str(self._recipe.concurrency))

    async def _start(self) -> None:
        folder = await asyncio.to_thread(_located, self._base)
        version = await asyncio.to_thread(weight_version, folder)
        options = dict(self._recipe.options)
        # What SGLang serves has the name of the folder that it last loaded, so it starts with such a name.
        arguments = {"served_model_name": str(folder), **options.pop("arguments", {})}
        own = {"model": str(folder), "weight_version": version, "log_file": self._log_file, "arguments": arguments}
        config = engine_config("sglang", {**options, **own})
        assert isinstance(config, SGLangConfig)
        self._engine = SGLangEngine(config)
        begin = time.monotonic()
        await self._engine.start()
        self._loaded = version
        say(f"SGLang is ready after {time.monotonic() - begin:.0f} s")

    async def _load(self, engine: SGLangEngine, model: str, folder: Path) -> str:
        version = await asyncio.to_thread(weight_version, folder)
        if version != self._loaded:
            begin = time.monotonic()
            try:
                await engine.update_weights(str(folder), version)
            except GenerationError as error:
                raise StartError(f"SGLang could not take the weights in {str(folder)!r}: {error.detail}") from error
            self._loaded = version
            say(f"weights {version} of {model} are loaded after {time.monotonic() - begin:.1f} s")
        return version


def _located(model: str) -> Path:
    return find_model(model).resolve()
