"""``assay serve``: the judge service. The GenRM flags have the names and the defaults of the seeds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import BaseModel, Field

from assay.core import log
from assay.core.config import Config
from assay.core.errors import InputError
from assay.engines.embedded.config import DEFAULT_MODEL

from .declare import JsonObject, checked

if TYPE_CHECKING:
    from assay.service.assemble import ServeConfig
    from assay.service.settings import ServiceSettings


class ModelFlags(Config):
    """The judge models, under the names of the seeds."""

    genrm_model_path: str = DEFAULT_MODEL
    """Judge model: the bundled one, a hub name or a folder."""
    adapter: str | None = None
    """LoRA adapter on the embedded models: one of the package by name, a folder in peft's layout, or none; unless said
    that of the package for the bundled model, and none for any other. All judges of the service judge with it."""
    genrm_num_gpus: int = 1
    """GPUs of the judge in all."""
    genrm_num_gpus_per_engine: int = 1
    """GPUs of one engine."""
    genrm_engine_config: JsonObject = Field(default_factory=dict)
    """JSON: max_context_len and arguments of the engine."""
    genrm_sampling_config: JsonObject = Field(default_factory=dict)
    """JSON: temperature, top_p, top_k, max_response_len, chat_template_kwargs."""
    genrm_instances: JsonObject | None = None
    """JSON: {route_key: {model_path, num_gpus, ...}}; several judge models in one service."""


class RunnerFlags(Config):
    """Who runs the judge models."""

    engine: Literal["embedded", "sglang", "openai", "fake"] = "embedded"
    """Who runs the judge models; openai is any compatible endpoint."""
    sglang_python: str | None = None
    """Interpreter that has SGLang in it; see docs/sglang.md."""
    processes: Annotated[bool, typer.Option("--processes")] = False
    """Run embedded engines in processes of their own, so that one that dies is rebuilt."""
    pool: JsonObject = Field(default_factory=dict)
    """JSON: how replicas are watched and routed to, e.g. token_budget, hedge_quantile, drain_s, hang_s."""
    engine_options: JsonObject = Field(default_factory=dict)
    """JSON: more options of the engine, e.g. base_url."""


class OfferedFlags(Config):
    """What judges are offered, and how they read."""

    judge: tuple[str, ...] = ()
    """TOML file of a judge of your own to offer by name; repeatable."""
    meta_rm: JsonObject = Field(default_factory=dict)
    """JSON: {name: {"model": ..., "kind": "embedded"}} of the meta RMs that plans of voting may name; kinds are
    embedded, and sglang and vllm (with "base_url")."""
    judge_options: JsonObject = Field(default_factory=dict)
    """JSON: {judge: {option: value}} of the built-in judges; the judge "*" is all of them, as far as they have it."""
    choices: Annotated[bool, typer.Option("--choices")] = False
    """The verifier reads the probabilities of its labels instead of a text."""
    lenient: Annotated[bool, typer.Option("--lenient")] = False
    """Judges accept near misses of the verdict's format, and flag them."""
    language: Literal["en", "zh"] = "en"
    """Language of the judges' prompts."""
    reask: int = Field(default=1, ge=0)
    """How often a judge whose text holds no verdict is asked again."""


class HttpFlags(Config):
    """Where the service listens, and what it takes."""

    host: str = "127.0.0.1"
    """Address to listen on; beyond loopback an API key is required."""
    port: int = 8000
    """0 takes any free port."""
    prefix: str = "/genrm"
    """What every route starts with."""
    api_key: Annotated[str | None, typer.Option(envvar="ASSAY_API_KEY", show_envvar=True)] = None
    """Bearer token that clients must send."""
    deadline_s: float = 600.0
    """Deadline of a request that names none, in seconds."""
    max_in_flight: int = 256
    """Requests that one instance works on at a time."""
    max_queue: int = 4096
    """Requests that wait for one instance; more are refused with 429."""
    max_body_bytes: int = 16 << 20
    """Largest request body."""
    drain_s: int = 30
    """Seconds that running requests get to finish in when the service stops."""


class KeptFlags(Config):
    """What is kept of judgments."""

    record: Path | None = None
    """Folder of the flight recorder (Parquet); nothing is recorded without it."""
    cache: Path | None = None
    """SQLite file of the verdict cache; in memory only without it."""


class RayFlags(Config):
    """The service on a Ray cluster."""

    ray: Annotated[bool, typer.Option("--ray")] = False
    """Run on Ray: engines as actors, the same app behind Ray Serve; see docs/ray.md."""
    ray_address: str | None = None
    """Address of a running Ray cluster; one is started on this machine without it."""
    num_ingress: int = 2
    """With --ray: ingress replicas, which share the engines."""
    ray_num_gpus: int | None = None
    """With --ray: GPUs of the cluster that is started here; those of this machine without it."""


SERVE_PANELS: dict[type[BaseModel], str] = {
    ModelFlags: "Judge models",
    RunnerFlags: "Engines",
    OfferedFlags: "Judges",
    HttpFlags: "HTTP",
    KeptFlags: "What is kept",
    RayFlags: "Ray",
}
"""Headings of the help."""


class ServeFlags(RayFlags, KeptFlags, HttpFlags, OfferedFlags, RunnerFlags, ModelFlags):
    """Serve judges over HTTP: /generate, /score, /v1/chat/completions, /health, /metrics."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much the log says."""


def serve(flags: ServeFlags) -> None:
    """Run the verb."""
    from assay.service.app import create_app
    from assay.service.assemble import ServeConfig, assemble
    from assay.service.server import serve as run
    from assay.service.settings import ServiceSettings

    log.setup(flags.log_level)
    genrm = {name: value for name, value in flags if name.startswith("genrm_")}
    if flags.genrm_instances is not None and flags.genrm_model_path == DEFAULT_MODEL:
        del genrm["genrm_model_path"]
    config = checked(
        ServeConfig,
        genrm=genrm,
        engine=flags.engine,
        engine_options=_engine_options(flags),
        processes=flags.processes,
        pool=flags.pool,
        meta_rm=flags.meta_rm,
        judge_options=_judge_options(flags),
        judge_files=flags.judge,
        lenient=flags.lenient,
        reask=flags.reask,
        cache=flags.cache,
        record=flags.record,
    )
    limits = ("host", "port", "prefix", "deadline_s", "max_in_flight", "max_queue", "max_body_bytes", "drain_s")
    chosen = {name: value for name, value in flags if name in limits}
    settings = checked(ServiceSettings, **chosen, api_key=flags.api_key or None)
    if flags.ray:
        _on_ray(flags, config, settings)
    else:
        run(create_app(assemble(config), settings), settings)


def _on_ray(flags: ServeFlags, config: ServeConfig, settings: ServiceSettings) -> None:
    if importlib.util.find_spec("ray") is None:
        raise InputError("--ray needs Ray, which is not installed; fix: pip install 'assay[ray]'")
    _refuse_copies(flags.meta_rm)
    from assay.service.ray.run import serve_on_ray
    from assay.service.ray.settings import RaySettings

    ray = checked(
        RaySettings,
        address=flags.ray_address,
        num_ingress=flags.num_ingress,
        num_gpus=flags.ray_num_gpus,
        log_level=flags.log_level,
    )
    serve_on_ray(config, settings, ray)


def _refuse_copies(meta_rm: dict[str, Any]) -> None:
    """Every ingress replica would load an embedded meta RM of its own."""
    for name, options in meta_rm.items():
        if isinstance(options, dict) and options.get("kind", "embedded") == "embedded":
            raise InputError(
                f"--meta-rm {name!r} is embedded, and with --ray every ingress replica would load it: run it behind "
                "SGLang or vLLM and name its kind and base_url"
            )


def _judge_options(flags: ServeFlags) -> dict[str, dict[str, Any]]:
    """What ``--judge-options`` says, over the flags, which are short for options of all judges."""
    shorthands = {"choices": flags.choices, "lenient": flags.lenient, "language": flags.language}
    own = flags.judge_options.get("*", {})
    if not isinstance(own, dict):
        return flags.judge_options  # whoever takes it says what is wrong with it
    return {**flags.judge_options, "*": {**shorthands, **own}}


def _engine_options(flags: ServeFlags) -> dict[str, Any]:
    own = (
        ("--sglang-python", "python", flags.sglang_python, "sglang"),
        ("--adapter", "adapter", flags.adapter, "embedded"),
    )
    options = dict(flags.engine_options)
    for flag, name, value, engine in own:
        if value is None:
            continue
        if flags.engine != engine:
            raise InputError(f"{flag} {value!r} has no effect with --engine {flags.engine}")
        options[name] = value
    return options
