"""Judge engines on this machine, as the benchmarks run them, and the service over them."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from assay.core.types import DEFAULT_SAMPLING, SamplingParams
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.judges import build_judge
from assay.scoring.scorer import Scorer
from assay.service.hub import Hub

NO_THINKING = {"enable_thinking": False}


def add_options(parser: argparse.ArgumentParser) -> None:
    """How to reach SGLang, for every script here."""
    parser.add_argument("--python", help="the interpreter that has SGLang; default: this one, with its PYTHONPATH")
    parser.add_argument("--python-path", help="PYTHONPATH of that interpreter")
    parser.add_argument("--max-context-len", type=int, default=4096)
    parser.add_argument(
        "--arguments",
        type=json.loads,
        default={
            "sampling_backend": "pytorch",
            "disable_prefill_cuda_graph": True,
            "cuda_graph_max_bs_decode": 256,
            "enable_metrics": True,
        },
        help="further arguments of SGLang, as JSON",
    )


def engine_config(options: argparse.Namespace, model: str, **more: Any) -> SGLangConfig:
    """The settings of one engine; its log goes to a file named after the model."""
    log = Path(tempfile.gettempdir()) / f"sglang-{Path(model).name}.log"
    env = {} if options.python_path is None else {"PYTHONPATH": options.python_path}
    base = {"model": model, "python": options.python, "env": env, "log_file": log, "arguments": options.arguments}
    base |= {"max_context_len": options.max_context_len}
    return SGLangConfig.model_validate(base | {"reasoning_parser": "qwen3", "start_timeout_s": 240} | more)


def pool_of(config: SGLangConfig) -> PoolEngine:
    """A pool of one engine: it is watched, proven by the canary, and rebuilt."""
    return PoolEngine(PoolConfig(drain_s=5, hang_s=8), lambda _: SGLangEngine(config))


def sglang_of(pool: PoolEngine) -> SGLangEngine:
    """The engine that is in the pool now."""
    engine = pool.members[0].engine
    assert isinstance(engine, SGLangEngine)
    return engine


def hub_of(engines: dict[str, Any], max_new_tokens: int) -> Hub:
    """A service of these engines without cache, de-duplication, recorder and re-asking: what is left is overhead."""
    sampling = SamplingParams(max_new_tokens=max_new_tokens, temperature=1.0, chat_template_kwargs=NO_THINKING)
    instances = {
        key: Scorer(
            engine,
            instance=key,
            sampling=sampling.over(DEFAULT_SAMPLING),
            reask=0,
            deduplicate=False,
        )
        for key, engine in engines.items()
    }
    return Hub(instances=instances, judges={"pointwise": build_judge("pointwise")})
