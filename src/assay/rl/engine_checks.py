"""Engines, models and contexts of a run, looked at before anything is loaded. Nothing is built here.

Owns: which of them are known by then. Does not own: the settings (``engine_options``), nor what an engine accepts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.engines.catalog import EngineConfig as AnyEngine
from assay.engines.catalog import engine_config
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.finding import find_model
from assay.engines.embedded.shipped import card_of
from assay.engines.fake.config import FakeConfig
from assay.engines.instances import check_instance, instance_adapter
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.installed import ask_installed
from assay.wire.genrm import GenRMConfig

from .config import TrainConfig
from .engine_options import embedded_options, judge_options, judges_said, rollout_options


def check_engines(config: TrainConfig) -> None:
    """What the engines are asked to be, and whether SGLang is there where it is asked for.

    Raises:
        InputError: an option that the rollout engine or a judge's engine does not have, or a wrong value.
        StartError: the interpreter has no SGLang.
    """
    settings = rollout_settings(config)
    # A server that runs already needs no interpreter here, and of a cluster that was there before the nodes count.
    if isinstance(settings, SGLangConfig) and settings.attach is None and config.ray_address is None:
        ask_installed(settings)
    kind, options = config.genrm_engine, judge_options(config)
    for key, spec in judges_said(config.settings(GenRMConfig), kind).specs().items():
        try:
            check_instance(spec, kind, options)
        except InputError as error:
            raise InputError(f"--genrm-engine-options, judge {key!r}: {error}") from error


def rollout_settings(config: TrainConfig) -> AnyEngine:
    """The settings of one rollout engine. Raises InputError: one of them is wrong."""
    match config.rollout_engine:
        case "embedded":
            own = embedded_options(config)
        case "sglang":
            own = {"model": config.hf_checkpoint, "num_gpus": config.rollout_num_gpus_per_engine}
        case "fake":
            own = {"model": f"fake {config.hf_checkpoint}"}
    try:
        return engine_config(config.rollout_engine, {**own, **rollout_options(config)})
    except InputError as error:
        raise InputError(f"--rollout-engine-options: {error}") from error


def policy_context(config: TrainConfig) -> int | None:
    """Tokens that prompt and answer may have together, as far as settings and the policy's own config say.

    Raises:
        InputError: see ``rollout_settings``.
    """
    settings = rollout_settings(config)
    match settings:
        case EmbeddedConfig() | SGLangConfig():
            limits = (settings.max_context_len, _own_context(config))
            return min((limit for limit in limits if limit is not None), default=None)
        case FakeConfig():
            return settings.context_len
        case _:
            return None


def check_models(config: TrainConfig) -> None:
    """The models beside the policy, which its tokenizer has found already.

    Raises:
        InputError: there is no such model; names the flag.
    """
    if config.ref_load is not None:
        _check_model(config.ref_load, "--ref-load", config, hub=True)
    # Judges on a cluster that was there before may lie where only its nodes see them; a fake one is no model.
    if config.genrm_engine == "fake" or config.ray_address is not None:
        return
    flag = "--genrm-instances" if config.genrm_instances else "--genrm-model-path"
    for key, spec in config.specs().items():
        _check_adapter(instance_adapter(spec, config.genrm_engine, judge_options(config)), key)
        _check_model(spec.model_path, f"{flag}, judge {key!r}", config, hub=config.genrm_engine == "embedded")


def _check_model(name: str, flag: str, config: TrainConfig, *, hub: bool) -> None:
    """``hub``: whether this process would fetch it. SGLang fetches its own."""
    path = Path(name).expanduser()
    if not (hub or path.exists() or path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
        return
    try:
        find_model(name, with_code=config.trust_remote_code)
    except InputError as error:
        raise InputError(f"{flag}: {error}") from error


def _check_adapter(adapter: str, judge: str) -> None:
    try:
        card_of(adapter)
    except InputError as error:
        raise InputError(f"judge {judge!r}: {error}") from error


def _own_context(config: TrainConfig) -> int | None:
    from transformers import AutoConfig

    path = find_model(config.hf_checkpoint, with_code=config.trust_remote_code)
    own: Any = AutoConfig.from_pretrained(str(path), trust_remote_code=config.trust_remote_code)
    return own.get_text_config().to_dict().get("max_position_embeddings")
