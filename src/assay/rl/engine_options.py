"""What the flags say to the engines beside a trainer.

Owns: which flag is which option. Does not own: what an option means (``engines``), nor the engines built of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.engines.embedded.finding import find_model
from assay.wire.genrm import GenRMConfig, GenRMEngineConfig

from .config import TrainConfig


def rollout_options(config: TrainConfig) -> dict[str, Any]:
    """Of the rollout engine, as far as the flags say them."""
    options = _options(config, config.rollout_engine, config.rollout_engine_options)
    if config.rollout_engine != "sglang":
        return options
    attach = {} if config.rollout_attach is None else {"attach": config.rollout_attach}
    return _as_trained(config, {**options, **attach})


def policy_folder(config: TrainConfig) -> str:
    """The policy's folder. A server of its own knows folders and hub names; the bundled model's is found here."""
    return str(find_model(config.hf_checkpoint, with_code=config.trust_remote_code))


def judge_options(config: TrainConfig) -> dict[str, Any]:
    """Of every judge's engine, beside its model."""
    return _options(config, config.genrm_engine, config.genrm_engine_options)


def embedded_options(config: TrainConfig) -> dict[str, Any]:
    """Of the embedded engine that the policy answers with, but for what ``--rollout-engine-options`` says."""
    places = config.rollout_batch_size * config.n_samples_per_prompt
    return {
        "model": config.hf_checkpoint,
        "batch_invariant": config.batch_invariant,
        "max_batch": min(256, max(32, places)),
        "max_queue": max(1024, 2 * places),
        "trust_remote_code": config.trust_remote_code,
        "dtype": config.dtype,
        "device": config.device,
    }


def judges_said(flags: GenRMConfig, kind: str) -> GenRMConfig:
    """The judges' flags. Shares of a card are for the planner too, and only SGLang takes memory by them."""
    if kind == "sglang":
        return flags
    own = _bare(flags.genrm_engine_config)
    instances = {
        key: one if one.engine_config is None else one.model_copy(update={"engine_config": _bare(one.engine_config)})
        for key, one in (flags.genrm_instances or {}).items()
    }
    return flags.model_copy(update={"genrm_engine_config": own, "genrm_instances": instances or None})


def _bare(config: GenRMEngineConfig) -> GenRMEngineConfig:
    return config.model_copy(update={"mem_fraction_static": None})


def rollout_share(config: TrainConfig) -> GenRMEngineConfig:
    """The share of a card that rollout engines may take."""
    share = config.sglang_mem_fraction_static
    return GenRMEngineConfig() if share is None else GenRMEngineConfig(mem_fraction_static=share)


def _options(config: TrainConfig, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    python = {"python": config.sglang_python} if kind == "sglang" and config.sglang_python else {}
    return {**python, **options}


def _as_trained(config: TrainConfig, options: Mapping[str, Any]) -> dict[str, Any]:
    """SGLang would take the type that the checkpoint is stored in; the policy is computed in the trainer's."""
    dtype = "bfloat16" if config.dtype == "auto" else config.dtype
    said = dict(options.get("arguments") or {})
    return {**options, "arguments": {"dtype": dtype, **said}}
