import subprocess
import sys
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.engines.catalog import KINDS, build_engine, engine_config

OPTIONS: dict[str, dict[str, Any]] = {"openai": {"base_url": "http://host/v1"}, "sglang": {"model": "m"}}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_builds_the_engine_of_its_name(kind: str) -> None:
    if kind == "embedded":
        pytest.importorskip("torch", reason="the embedded extra is not installed")
    config = engine_config(kind, OPTIONS.get(kind, {}))
    assert config.kind == kind
    assert type(build_engine(config)).__name__.lower() == f"{kind}engine"


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        ("vllm", {}, "'vllm'; there are embedded, openai, sglang, rule, fake"),
        ("openai", {}, "'openai': openai.base_url: Field required"),
        ("rule", {"workers": 0}, "workers.*greater than or equal to 1.*got 0"),
        ("fake", {"latency": 1}, "latency: there is no such option"),
        ("rule", {"workers": True}, "workers: must be a whole number, written as one .*got True"),
        ("embedded", {"batch_invariant": 1}, "batch_invariant: must be true or false, not a number .*got 1"),
        ("embedded", {"thread": 1}, "thread: there is no such option .*did you mean 'threads'"),
    ],
)
def test_what_is_wrong_is_named(kind: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        engine_config(kind, options)


def test_the_table_is_light() -> None:
    code = "import assay.engines.catalog, sys; print([m for m in ('torch', 'aiohttp', 'sympy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
