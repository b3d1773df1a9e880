"""``assay serve``: the judge service. The GenRM flags have the names of the seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.core import log
from assay.engines.embedded.config import DEFAULT_MODEL

from .options import Choices, Language, Lenient, checked, json_option


def serve(
    genrm_model_path: Annotated[
        str, typer.Option(help="Judge model: the bundled one, a hub name or a folder.")
    ] = DEFAULT_MODEL,
    genrm_num_gpus: Annotated[int, typer.Option(help="GPUs of the judge in all.")] = 1,
    genrm_num_gpus_per_engine: Annotated[int, typer.Option(help="GPUs of one engine.")] = 1,
    genrm_engine_config: Annotated[str, typer.Option(help="JSON: max_context_len and arguments of the engine.")] = "{}",
    genrm_sampling_config: Annotated[
        str, typer.Option(help="JSON: temperature, top_p, top_k, max_response_len, ...")
    ] = "{}",
    genrm_instances: Annotated[str | None, typer.Option(help="JSON: {route_key: {model_path, num_gpus, ...}}.")] = None,
    engine: Annotated[str, typer.Option(help="embedded, openai (any compatible endpoint) or fake.")] = "embedded",
    engine_options: Annotated[str, typer.Option(help="JSON: more options of the engine, e.g. base_url.")] = "{}",
    judge: Annotated[
        list[str] | None, typer.Option(help="TOML file of a judge of your own to offer; repeatable.")
    ] = None,
    choices: Choices = False,
    lenient: Lenient = False,
    language: Language = "en",
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond loopback an API key is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.")] = 8000,
    prefix: Annotated[str, typer.Option(help="What every route starts with.")] = "/genrm",
    api_key: Annotated[
        str | None, typer.Option(envvar="ASSAY_API_KEY", help="Bearer token that clients must send.")
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Folder of the flight recorder (Parquet).")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="SQLite file of the verdict cache; memory only without it.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve judges over HTTP: /generate, /score, /v1/chat/completions, /health, /metrics."""
    from assay.service.app import create_app
    from assay.service.assemble import ServeConfig, assemble
    from assay.service.server import serve as run
    from assay.service.settings import ServiceSettings

    log.setup(log_level)
    genrm = {
        "genrm_model_path": None if genrm_instances else genrm_model_path,
        "genrm_num_gpus": genrm_num_gpus,
        "genrm_num_gpus_per_engine": genrm_num_gpus_per_engine,
        "genrm_engine_config": json_option("--genrm-engine-config", genrm_engine_config),
        "genrm_sampling_config": json_option("--genrm-sampling-config", genrm_sampling_config),
        "genrm_instances": json_option("--genrm-instances", genrm_instances) if genrm_instances else None,
    }
    config = checked(
        ServeConfig,
        genrm=genrm,
        engine=engine,
        engine_options=json_option("--engine-options", engine_options),
        judge_options={"choices": choices, "lenient": lenient, "language": language},
        judge_files=tuple(judge or ()),
        cache=cache,
        record=record,
    )
    settings = checked(ServiceSettings, host=host, port=port, prefix=prefix, api_key=api_key)
    run(create_app(assemble(config), settings), settings)
