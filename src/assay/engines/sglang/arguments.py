"""Settings into SGLang's command line. Pure: what the installed version knows comes in as data."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

from .config import SGLangConfig
from .installed import Argument, Installed

OWNED: Mapping[str, str] = {
    "model_path": "model",
    "port": "port",
    "tp_size": "tp_size",
    "pp_size": "pp_size",
    "dp_size": "dp_size",
    "ep_size": "ep_size",
    "base_gpu_id": "gpu_ids",
    "gpu_id_step": "gpu_ids",
    "nnodes": "nnodes",
    "node_rank": "node_rank",
    "dist_init_addr": "dist_init_addr",
    "context_length": "max_context_len",
    "mem_fraction_static": "mem_fraction_static",
    "enable_memory_saver": "memory_saver",
    "enable_weights_cpu_backup": "weights_cpu_backup",
    "enable_deterministic_inference": "deterministic",
    "reasoning_parser": "reasoning_parser",
    "trust_remote_code": "trust_remote_code",
    "weight_version": "weight_version",
}
"""Arguments of SGLang that have an option of their own here, and which one."""

FORBIDDEN: Mapping[str, str] = {
    "host": "the server listens on the loopback interface; the service in front of it is what others reach",
    "config": "a file of arguments would hide them from these checks; list them",
    "api_key": "only this process talks to the server",
    "admin_api_key": "only this process talks to the server",
    "ssl_keyfile": "only this process talks to the server",
    "ssl_certfile": "only this process talks to the server",
    "grpc_mode": "the engine speaks HTTP",
    "smg_grpc_mode": "the engine speaks HTTP",
    "use_ray": "the engine owns its processes; place the engine itself with Ray",
    "encoder_only": "a judge generates text",
    "is_embedding": "a judge generates text",
    "skip_tokenizer_init": "judges send text",
    "allow_auto_truncate": "a judge that reads half a prompt gives no verdict",
    "incremental_streaming_output": "streams are read as texts that grow",
    "delete_ckpt_after_loading": "the weights are read again on waking",
}
"""Arguments that would break the engine, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the settings leave to the moment of the start."""

    model_path: Path
    weight_version: str
    port: int
    context_len: int | None
    free_fraction: float | None
    """``mem_fraction_static`` as SGLang reads it: a share of the memory that is free now."""


def argument_vector(config: SGLangConfig, installed: Installed, launch: Launch) -> list[str]:
    """The arguments of ``sglang.launch_server``.

    Raises:
        InputError: an argument that this version does not know (with the nearest one that it does), or that is not the
            user's to set, or a value that the command line cannot carry.
    """
    said = _ours(config, launch)
    for name, value in config.arguments.items():
        argument = _known(name, installed)
        if argument.name in OWNED:
            raise InputError(f"SGLang's argument {name!r} is set here by {OWNED[argument.name]!r}; use that")
        if argument.name in FORBIDDEN:
            raise InputError(f"SGLang's argument {name!r} cannot be set: {FORBIDDEN[argument.name]}")
        said[argument.name] = value
    given = ((name, value) for name, value in said.items() if value is not None)
    return [word for name, value in given for word in _words(_known(name, installed), name, value)]


def check_arguments(config: SGLangConfig, installed: Installed) -> None:
    """Check the further arguments alone, before anything is looked up or measured. Raises as ``argument_vector``."""
    nothing = Launch(model_path=Path(), weight_version="", port=0, context_len=None, free_fraction=None)
    argument_vector(config, installed, nothing)


def _ours(config: SGLangConfig, launch: Launch) -> dict[str, Any]:
    """What the engine itself says, in SGLang's names; None leaves an argument out."""
    several = config.nnodes > 1
    return {
        "model_path": str(launch.model_path),
        "host": "127.0.0.1",
        "port": launch.port,
        "tp_size": config.tensor_parallel(),
        "pp_size": config.pp_size if config.pp_size > 1 else None,
        "dp_size": config.dp_size if config.dp_size > 1 else None,
        "ep_size": config.ep_size if config.ep_size > 1 else None,
        "nnodes": config.nnodes if several else None,
        "node_rank": config.node_rank if several else None,
        "dist_init_addr": config.dist_init_addr if several else None,
        "context_length": launch.context_len,
        "mem_fraction_static": None if launch.free_fraction is None else round(launch.free_fraction, 4),
        "enable_memory_saver": config.memory_saver or None,
        "enable_weights_cpu_backup": config.backed_up or None,
        "enable_deterministic_inference": config.deterministic or None,
        "reasoning_parser": config.reasoning_parser,
        "trust_remote_code": config.trust_remote_code or None,
        "weight_version": launch.weight_version,
        "enable_cache_report": True,
        "log_level_http": "warning",
    }


def _known(name: str, installed: Installed) -> Argument:
    plain = name.lstrip("-").replace("-", "_")
    if plain in installed.arguments:
        return installed.arguments[plain]
    # A typing error in an option of this engine lands here as well.
    names = {*installed.arguments, *SGLangConfig.model_fields} - {"kind", "arguments"}
    near = difflib.get_close_matches(plain, sorted(names), n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "its --help lists those there are"
    raise InputError(f"SGLang {installed.version} has no argument {name!r}; {hint}")


def _words(argument: Argument, name: str, value: Any) -> list[str]:
    if argument.form == "switch":
        if not isinstance(value, bool):
            raise InputError(f"SGLang's argument {name!r} is a switch: give true or false (got {value!r})")
        if value == argument.default_on:
            return []
        if value:
            return [argument.flag]
        if argument.off_flag is None:
            raise InputError(f"SGLang's argument {name!r} is on by default and has no flag that turns it off")
        return [argument.off_flag]
    if argument.form == "list":
        return [argument.flag, *(_word(one) for one in (value if isinstance(value, list | tuple) else [value]))]
    return [argument.flag, _word(value)]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
