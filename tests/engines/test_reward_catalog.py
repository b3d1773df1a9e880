import subprocess
import sys
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.engines.reward_catalog import REWARD_KINDS, build_reward_engine, reward_engine_config

OPTIONS: dict[str, dict[str, Any]] = {
    "embedded": {"model": "m"},
    "sglang": {"base_url": "http://host:30000"},
    "vllm": {"base_url": "http://host:8000/v1"},
}
CLASSES = {
    "embedded": "EmbeddedRewardEngine",
    "sglang": "HttpRewardEngine",
    "vllm": "HttpRewardEngine",
    "fake": "FakeRewardEngine",
}


@pytest.mark.parametrize("kind", REWARD_KINDS)
def test_every_kind_builds_its_engine(kind: str) -> None:
    if kind == "embedded":
        pytest.importorskip("torch", reason="the embedded extra is not installed")
    config = reward_engine_config(kind, OPTIONS.get(kind, {}))
    assert config.kind == kind
    assert type(build_reward_engine(config)).__name__ == CLASSES[kind]


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        ("openai", {}, "'openai'; there are embedded, sglang, vllm, fake"),
        ("embedded", {}, "model: Field required"),
        ("vllm", {}, "base_url: Field required"),
        ("vllm", {"base_url": "host:8000"}, r"needs the form http\(s\)://host:port"),
        ("vllm", {"base_url": "http://host:8000", "tokenizer": "t"}, "leave tokenizer out"),
        ("sglang", {"base_url": "http://host", "api_key": "a", "api_key_env": "B"}, "give one"),
        ("fake", {"faults": {"hang": 0.6, "latency": 0.6}}, "over 1"),
        ("fake", {"logits": {"a": float("nan")}}, "finite"),
    ],
)
def test_what_is_wrong_is_named(kind: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        reward_engine_config(kind, options)


def test_the_table_is_light() -> None:
    code = (
        "import assay.engines.reward_catalog, sys;"
        "print([m for m in ('torch', 'transformers', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
