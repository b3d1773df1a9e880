"""Puts a service together from its configuration: engines, scorers, judges by name, cache and recorder.

Owns which part gets which setting. Does not own what the parts do, nor how they are served (``app``, ``server``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError
from assay.core.types import DEFAULT_SAMPLING, SamplingParams
from assay.engines.base import Engine
from assay.engines.catalog import build_engine, engine_config
from assay.engines.embedded.adapter_card import AdapterCard
from assay.engines.embedded.shipped import card_of, check_form, forms, needing_reference
from assay.engines.instances import Kind, instance_adapter, instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.reward_catalog import build_reward_engine, reward_engine_config
from assay.judges import Judge, build_all, load_judge
from assay.scoring.cache import VerdictCache
from assay.scoring.meta import MetaScorer
from assay.scoring.reasking import REASK
from assay.scoring.recorder import Recorder
from assay.scoring.scorer import Scorer
from assay.wire.genrm import RULES_KEY, GenRMConfig, InstanceSpec

from .hub import Hub


class ServeConfig(Config):
    """What ``assay serve`` serves; how it listens stands in ``ServiceSettings``."""

    genrm: GenRMConfig
    engine: Kind = "embedded"
    """Which engine runs the judge models."""

    engine_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Options of the engine beside the model, e.g. ``base_url`` of an OpenAI-compatible endpoint."""

    processes: bool = False
    """Run embedded engines in processes of their own even where there is one replica: killed ones are rebuilt."""

    pool: PoolConfig = PoolConfig()
    """How the replicas of an instance are watched and routed to."""

    judge_options: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """Options of the built-in judges by the judge's name; those of ``*`` are for all of them that have such options."""

    judge_files: tuple[str, ...] = ()
    """TOML files of judges of your own, offered under their names."""

    lenient: bool = False
    """Read those judges leniently, whatever their files say."""

    meta_rm: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """Meta RMs by the name that a plan calls them by: ``kind`` (embedded unless said), ``model``, ``base_url``, ..."""

    reask: int = REASK
    """How often a judge whose text held no verdict is asked again, with another seed."""

    cache: Path | None = None
    """SQLite file of the verdict cache; None keeps verdicts in memory only."""

    record: Path | None = None
    """Folder of the flight recorder; None records nothing."""


def assemble(config: ServeConfig, engines: Mapping[str, Engine] | None = None) -> Hub:
    """The hub of a service; its engines are built, not started.

    Args:
        engines: those of all instances, where they are not to be built here.

    Raises:
        InputError: no model is configured, an option that nothing takes, a judge's file that is wrong.
        OutputError: the cache or the recorder cannot be opened.
    """
    specs = config.genrm.specs()
    if not specs:
        raise InputError("no judge model is configured: name one with --genrm-model-path or --genrm-instances")
    judges = {judge.name: judge for judge in _judges(config)}
    cache = VerdictCache(config.cache)
    recorder = None if config.record is None else Recorder(config.record)

    metas = {name: _meta(name, options, cache) for name, options in config.meta_rm.items()}

    rule_engine = build_engine(engine_config("rule", {}))

    def scorer(engine: Engine, key: str, sampling: SamplingParams, card: AdapterCard | None = None) -> Scorer:
        return Scorer(
            engine,
            instance=key,
            sampling=sampling,
            forms=forms(card),
            needs_reference=needing_reference(card),
            reask=config.reask,
            cache=cache,
            recorder=recorder,
            metas=metas,
            rules=None if engine is rule_engine else rule_engine,
        )

    gpus = accumulate((spec.num_gpus for spec in specs.values()), initial=0)
    instances: dict[str, Scorer] = {}
    for (key, spec), first_gpu in zip(specs.items(), gpus, strict=False):
        card = card_of(instance_adapter(spec, config.engine, config.engine_options))
        for judge in judges.values():
            check_form(card, judge)
        engine = _engine(config, spec, first_gpu) if engines is None else engines[key]
        instances[key] = scorer(engine, key, spec.sampling, card)
    rules = scorer(rule_engine, RULES_KEY, DEFAULT_SAMPLING)
    paths = {key: spec.model_path for key, spec in specs.items()}
    return Hub(instances=instances, rules=rules, judges=judges, metas=metas, model_paths=paths)


def _engine(config: ServeConfig, spec: InstanceSpec, first_gpu: int) -> Engine:
    return instance_engine(
        spec,
        config.engine,
        config.engine_options,
        first_gpu=first_gpu,
        processes=config.processes,
        pool=config.pool,
    )


def _meta(name: str, options: Mapping[str, Any], cache: VerdictCache) -> MetaScorer:
    kind = str(options.get("kind", "embedded"))
    said = {key: value for key, value in options.items() if key != "kind"}
    try:
        return MetaScorer(build_reward_engine(reward_engine_config(kind, said)), cache=cache)
    except InputError as error:
        raise InputError(f"meta RM {name!r}: {error}") from error


def _judges(config: ServeConfig) -> Iterable[Judge]:
    yield from build_all(config.judge_options)
    for path in config.judge_files:
        yield load_judge(path, lenient=config.lenient)
