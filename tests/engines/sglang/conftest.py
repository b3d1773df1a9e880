"""A model folder, a card in a file, and engines over the double."""

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.types import ChatPrompt, Completion, Message, Request, SamplingParams, TokenPrompt
from assay.engines.feed import WeightFeed
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.engines.sglang.gpu import Card

HERE = Path(__file__).parent
GIB = 1 << 30


def write_model(folder: Path, *, marker: int = 0, hidden_size: int = 8, extra: str | None = None) -> Path:
    """A model's folder without weights worth the name: what the engine reads of it is all there."""
    folder.mkdir(parents=True)
    config = {
        "architectures": ["Double"],
        "model_type": "double",
        "hidden_size": hidden_size,
        "vocab_size": 300,
        "max_position_embeddings": 512,
        "marker": marker,
    }
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"embed.weight": [300, hidden_size], **({} if extra is None else {extra: [1]})}
    header = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    text = json.dumps({"__metadata__": {"marker": str(marker)}, **header}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    return folder


class FileCards:
    """The card that the double keeps in a file. Who is dead holds nothing."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "card.json"
        self.set(neighbour=0)

    def set(self, *, neighbour: int) -> None:
        """What somebody else holds."""
        held = json.loads(self.file.read_text())["held"] if self.file.exists() else {}
        self.file.write_text(json.dumps({"total": 20 * GIB, "neighbour": neighbour, "held": held}))

    def read(self) -> tuple[Card, ...]:
        told = json.loads(self.file.read_text())
        held = {int(pid): size for pid, size in told["held"].items() if alive(int(pid))}
        free = told["total"] - told["neighbour"] - sum(held.values())
        return (Card(name="0", total=told["total"], free=free, held=held),)


class Bench:
    """One folder with a model, a card and a journal; makes engines over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = write_model(folder / "model")
        self.cards = FileCards(folder)
        self.log = folder / "server.log"

    def config(self, **options: Any) -> SGLangConfig:
        env = {"PYTHONPATH": str(HERE / "standin"), "DOUBLE_DIR": str(self.folder), **options.pop("env", {})}
        given = {"model": str(self.model), "python": sys.executable, "env": env, "log_file": self.log, "stop_s": 2}
        return SGLangConfig.model_validate(given | {"start_timeout_s": 30} | options)

    @asynccontextmanager
    async def engine(self, *, feed: WeightFeed | None = None, **options: Any) -> AsyncGenerator[SGLangEngine]:
        engine = SGLangEngine(self.config(**options), self.cards, feed)
        try:
            await engine.start()
            yield engine
        finally:
            await engine.close()

    def calls(self, path: str) -> list[Any]:
        """The bodies that the double got on one path."""
        lines = (self.folder / "journal.jsonl").read_text().splitlines()
        return [line["body"] for line in map(json.loads, lines) if line["path"] == path]

    def control_calls(self) -> list[str]:
        """The control calls that the double got, in order, each burst of the same as one."""
        lines = (self.folder / "journal.jsonl").read_text().splitlines()
        quiet = ("/health", "/v1/chat/completions", "/generate", "/tokenize")
        paths = [path for line in lines if (path := json.loads(line)["path"]) not in quiet]
        return [path for place, path in enumerate(paths) if place == 0 or paths[place - 1] != path]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def chat(text: str = "Is 2 + 2 = 4?", **sampling: Any) -> Request:
    given = {"max_new_tokens": 8} | sampling
    messages = (Message(role="user", content=text),)
    return Request(id="r", prompt=ChatPrompt(messages=messages), sampling=SamplingParams(**given))


def tokens(*ids: int, **sampling: Any) -> Request:
    given = {"max_new_tokens": 8} | sampling
    return Request(id="t", prompt=TokenPrompt(token_ids=ids), sampling=SamplingParams(**given))


async def ask(engine: SGLangEngine, request: Request, seconds: float = 10) -> Completion:
    return (await engine.generate(request, Deadline.after(seconds)))[0]


async def until(true: Callable[[], bool], seconds: float = 5.0) -> float:
    """Wait until something holds; returns how long it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, "it did not come true"
        await asyncio.sleep(0.02)
    return time.monotonic() - began


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
