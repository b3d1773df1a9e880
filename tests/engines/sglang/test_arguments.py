import asyncio
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.engines.sglang.arguments import Launch, argument_vector
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.installed import read_installed

from .conftest import Bench

LAUNCH = Launch(model_path=Path("/m"), weight_version="v", port=1234, context_len=8192, free_fraction=None)


def _entry(flag: str, *aliases: str, form: str = "value", default: bool = False, name: str = "") -> dict[str, Any]:
    own = name or flag.lstrip("-").replace("-", "_")
    return {"name": own, "flags": [flag, *aliases], "form": form, "default": default}


INSTALLED = read_installed(
    {
        "version": "9.9",
        "arguments": [
            *(_entry(flag) for flag in ("--model-path", "--host", "--port", "--tp-size", "--context-length")),
            *(_entry(flag) for flag in ("--mem-fraction-static", "--weight-version", "--log-level-http", "--api-key")),
            *(_entry(flag) for flag in ("--dp-size", "--pp-size", "--ep-size", "--max-running-requests")),
            _entry("--cuda-graph-bs", form="list"),
            _entry("--model-loader-extra-config", "--loader-config"),
            *(_entry(flag, form="switch") for flag in ("--enable-memory-saver", "--enable-weights-cpu-backup")),
            *(_entry(flag, form="switch") for flag in ("--enable-cache-report", "--enable-metrics")),
            *(_entry(flag, form="switch") for flag in ("--trust-remote-code", "--enable-deterministic-inference")),
            _entry("--fast-path", "--no-fast-path", form="switch", default=True),
            _entry("--always-on", form="switch", default=True),
        ],
    }
)


def vector(launch: Launch = LAUNCH, **options: Any) -> str:
    return " ".join(argument_vector(SGLangConfig.model_validate({"model": "m", **options}), INSTALLED, launch))


def test_the_settings_become_sglangs_own_arguments() -> None:
    assert vector() == (
        "--model-path /m --host 127.0.0.1 --port 1234 --tp-size 1 --context-length 8192 --enable-memory-saver "
        "--enable-weights-cpu-backup --weight-version v --enable-cache-report --log-level-http warning"
    )
    half = Launch(model_path=Path("/m"), weight_version="v", port=1, context_len=None, free_fraction=0.33333)
    said = vector(half, num_gpus=4, dp_size=2, memory_saver=False, deterministic=True, trust_remote_code=True)
    assert "--tp-size 2 --dp-size 2 --mem-fraction-static 0.3333" in said
    assert "--enable-deterministic-inference --trust-remote-code" in said
    assert "memory-saver" not in said
    assert "context-length" not in said


def test_further_arguments_pass_through_in_every_form() -> None:
    said = vector(
        max_running_requests=64,
        cuda_graph_bs=[1, 2, 4],
        enable_metrics=True,
        loader_config={"threads": 8},
        fast_path=False,
    )
    assert said.endswith(
        '--max-running-requests 64 --cuda-graph-bs 1 2 4 --enable-metrics --model-loader-extra-config {"threads": 8} '
        "--no-fast-path"
    )
    assert vector(enable_metrics=False, fast_path=True, max_running_requests=None) == vector()
    assert "--log-level-http info" in vector(log_level_http="info")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_runing_requests": 4}, r"SGLang 9.9 has no argument 'max_runing_requests'; did you mean 'max_running_"),
        ({"start_timeout": 4}, "'start_timeout'; did you mean 'start_timeout_s'"),
        ({"qqqqqqqq": 4}, "'qqqqqqqq'; its --help"),
        ({"context_length": 4096}, "'context_length' is set here by 'max_context_len'"),
        ({"enable_memory_saver": True}, "by 'memory_saver'"),
        ({"api_key": "k"}, "'api_key' cannot be set: only this process talks to the server"),
        ({"host": "0.0.0.0"}, "'host' cannot be set"),
        ({"enable_metrics": 1}, "is a switch: give true or false"),
        ({"always_on": False}, "no flag that turns it off"),
    ],
)
def test_arguments_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        vector(**options)


def test_an_unknown_argument_stops_the_start_before_any_process_is_launched(bench: Bench) -> None:
    async def main() -> None:
        with pytest.raises(InputError, match=r"0.5.17 has no argument 'max_running_request'; did you mean 'max_r"):
            async with bench.engine(max_running_request=4):
                pass

    asyncio.run(main())
    assert not bench.log.exists()
