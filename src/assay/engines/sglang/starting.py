"""From settings to a server that answers: checks first, then the launch, then waiting with news of how it goes."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import GenerationError, InputError, StartError

from ..model_files import weight_version
from .arguments import Launch, argument_vector, check_arguments
from .config import SGLangConfig
from .gpu import Cards, choose_gpus
from .installed import Installed, ask_installed, child_env, interpreter, locate_model
from .memory import GIB, available_bytes, check_host_memory, free_fraction
from .model import ModelFiles, read_model
from .process import ServerProcess, free_port
from .server import SERVER_KEEP_ALIVE_S, Server

log = logging.getLogger(__name__)

_POLL_S = 0.2
_NEWS_S = 5.0
_READ_S = 5.0

SERVER_ENV = {
    # Its health route must not generate: asleep, that would end the server.
    "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false",
    # Log-probs of the distribution itself; without it they are of the one that the temperature made.
    "SGLANG_RETURN_ORIGINAL_LOGPROB": "true",
    "SGLANG_TIMEOUT_KEEP_ALIVE": str(SERVER_KEEP_ALIVE_S),
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A launch that has passed every check."""

    command: tuple[str, ...]
    env: dict[str, str]
    port: int
    version: str
    context_len: int | None
    files: ModelFiles


def visible_gpus(config: SGLangConfig) -> tuple[str, ...]:
    """The GPUs that the server will see, by index or UUID."""
    visible = child_env(config).get("CUDA_VISIBLE_DEVICES")
    return choose_gpus(config.gpu_ids, config.gpus_here, visible)


def make_plan(config: SGLangConfig, cards: Cards) -> Plan:
    """Check everything that can be checked before a process starts. Blocks: run it in a thread.

    Raises:
        InputError: an unknown model or argument. StartError: no SGLang, or no room in main memory or on a card.
    """
    installed = ask_installed(config)
    check_arguments(config, installed)
    files = read_model(find_folder(config))
    check_host_memory(config, files.weight_bytes, available_bytes())
    context_len = files.context_len(config.max_context_len)
    if context_len != config.max_context_len and config.max_context_len is not None:
        log.info("max_context_len=%d is capped by the model's own limit, %s", config.max_context_len, context_len)
    launch = Launch(
        model_path=files.path,
        weight_version=config.weight_version or weight_version(files.path),
        port=config.port or free_port(),
        context_len=context_len,
        free_fraction=_fraction(config, cards),
    )
    return Plan(
        command=_command(config, installed, launch),
        env=child_env(config) | SERVER_ENV | {"CUDA_VISIBLE_DEVICES": ",".join(visible_gpus(config))},
        port=launch.port,
        version=launch.weight_version,
        context_len=context_len,
        files=files,
    )


async def wait_until_ready(config: SGLangConfig, process: ServerProcess, server: Server) -> None:
    """Wait until the server has warmed up; says every few seconds how far it is.

    Raises:
        StartError: it ended, or is not ready in time; with the last lines of its own log.
    """
    began = news = time.monotonic()
    log.info("SGLang with %r was launched; its own log is in %s", config.model, process.log_file)
    while True:
        if (fault := process.fault()) is not None:
            raise StartError(f"SGLang did not start: {fault.detail}. {_end_of_log(process)}")
        if await _healthy(server):
            break
        now = time.monotonic()
        if now - began > config.start_timeout_s:
            detail = f"SGLang was not ready after {config.start_timeout_s:g} s (start_timeout_s)"
            raise StartError(f"{detail}. {_end_of_log(process)}")
        if now - news > _NEWS_S:
            news = now
            last = process.tail().rpartition("\n")[2].strip()
            log.info("SGLang with %r starts, %.0f s so far; it says: %.200s", config.model, now - began, last)
        await asyncio.sleep(_POLL_S)
    process.settle()
    log.info("SGLang with %r is ready after %.1f s on %s", config.model, time.monotonic() - began, server.url)


async def check_it_is_ours(server: Server, plan: Plan) -> bool:
    """Whether the model sees images. Raises StartError: another server answers on the port."""
    told = (await server.get("/model_info", _READ_S)).data()
    if told.get("model_path") != str(plan.files.path):
        detail = f"the server on {server.url} serves {told.get('model_path')!r}; another one has taken the port"
        raise StartError(f"{detail}: start again, or name a free port")
    return bool(told.get("has_image_understanding"))


async def _healthy(server: Server) -> bool:
    try:
        return (await server.get("/health", _READ_S)).status == 200
    except GenerationError:
        return False


def find_folder(config: SGLangConfig) -> Path:
    """The folder of the model. Raises InputError."""
    path = Path(config.model).expanduser()
    if path.is_dir():
        return path.resolve()
    if path.exists() or path.is_absolute() or config.model.startswith((".", "~")) or config.model.count("/") > 1:
        raise InputError(f"model {config.model!r}: there is no such folder; it must hold config.json and safetensors")
    told = locate_model(config)
    if "path" not in told:
        raise InputError(
            f"unknown model {config.model!r}: there is no folder of this name, and the hub said: {told.get('error')}. "
            "Check the name; without network, name a local folder; a gated model needs HF_TOKEN"
        )
    return Path(told["path"])


def _fraction(config: SGLangConfig, cards: Cards) -> float | None:
    if config.mem_fraction_static is None:
        return None
    now = cards.read()
    if not now:
        log.warning("the cards cannot be read: SGLang takes mem_fraction_static as a share of what is free")
        return config.mem_fraction_static
    fraction = free_fraction(config.mem_fraction_static, now)
    free = min(card.free for card in now) / GIB
    log.info(
        "mem_fraction_static=%g of a card is %.3f of the %.1f GiB free", config.mem_fraction_static, fraction, free
    )
    return fraction


def _command(config: SGLangConfig, installed: Installed, launch: Launch) -> tuple[str, ...]:
    return (interpreter(config), "-m", "sglang.launch_server", *argument_vector(config, installed, launch))


def _end_of_log(process: ServerProcess) -> str:
    return f"The end of its log {str(process.log_file)!r}:\n{process.tail()}"
