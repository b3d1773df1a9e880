"""From the flags of ``assay judge`` to what they name: the judge, who answers, the meta RM.

Owns the refusal of flags that have no effect. Does not own what any of them does.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.client import GenRMClient
from assay.core.errors import InputError
from assay.core.types import Item, SamplingParams
from assay.data import Need
from assay.data.principles import attach, load_given, load_stored
from assay.engines.catalog import build_engine, engine_config
from assay.engines.reward_catalog import build_reward_engine, reward_engine_config
from assay.engines.rule_first import RuleFirst
from assay.judges import Judge, build_judge
from assay.judges.verifier import VerifierJudge
from assay.scoring.batch import Judging
from assay.scoring.cache import VerdictCache
from assay.scoring.meta import MetaScorer
from assay.scoring.remote import RemoteScorer
from assay.scoring.scorer import Scorer
from assay.wire.sampling import SamplingBody, to_sampling

from .adapting import adapted
from .declare import checked
from .judge import JudgeFlags

DEFAULT_JUDGE = "pointwise"


def judge_of(flags: JudgeFlags, default: str = DEFAULT_JUDGE) -> Judge:
    """The judge that is named, or ``default``, with its options."""
    return build_judge(flags.judge or default, **judge_options(flags))


def judge_options(flags: JudgeFlags) -> dict[str, object]:
    """The options of the judge that the flags say."""
    shorthands = {"choices": flags.choices, "lenient": flags.lenient, "language": flags.language, "mode": flags.mode}
    # A flag at its default says nothing, so that a judge without that option can be asked for.
    said: dict[str, object] = {
        name: value for name, value in shorthands.items() if value != JudgeFlags.model_fields[name].default
    }
    if flags.principles is not None:
        said |= {"principles": load_given(flags.principles)} if _for_all(flags.principles) else {"stored": True}
    return said | flags.judge_options


def prepared(flags: JudgeFlags, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items, with the principles that are stored for their prompts."""
    if flags.principles is None or _for_all(flags.principles):
        return items
    return attach(items, load_stored(flags.principles))


def _for_all(principles: Path) -> bool:
    return principles.suffix == ".toml"


def needs_of(flags: JudgeFlags) -> tuple[Need, ...]:
    """What an item must have."""
    return ("candidates", "gold") if flags.need_gold else ("candidates",)


def backend(flags: JudgeFlags, judge: Judge) -> Judging:
    """Who judges. Belongs to the event loop that it is used in."""
    kind = flags.engine or ("rule" if judge.rule else "embedded")
    if kind == "service":
        effective = ("model", "adapter", "engine_options", "sampling", "reask", "cache", "no_dedup", "meta_options")
        refuse_given(flags, effective, "has no effect on a judge service: give it to assay serve instead")
        return RemoteScorer(GenRMClient(flags.url, api_key=flags.api_key), route_key=flags.route_key)
    if judge.rule != (kind == "rule") and kind != "fake":
        right = "rule" if judge.rule else "embedded, openai, fake or service"
        raise InputError(f"judge {judge.name!r} cannot be answered by the engine {kind!r}: take {right}")
    options = options_of(flags, kind)
    form, needs_reference = adapted(flags, kind, options, judge)
    cache = None if flags.no_dedup else VerdictCache(flags.cache)
    engine = build_engine(engine_config(kind, options))
    if isinstance(judge, VerifierJudge) and judge.first != "none":
        engine = RuleFirst(engine, build_engine(engine_config("rule", {})))
    return Scorer(
        engine,
        sampling=sampling_of(flags).over(form),
        needs_reference=needs_reference,
        reask=flags.reask,
        cache=cache,
        metas={} if flags.meta is None else {flags.meta: meta_of(flags.meta, flags, cache)},
        deduplicate=not flags.no_dedup,
    )


def options_of(flags: JudgeFlags, kind: str) -> dict[str, Any]:
    """The options of the engine that writes texts."""
    given = {"model": flags.model, "base_url": flags.url, "api_key": flags.api_key if kind == "openai" else None}
    return {**flags.engine_options, **{name: value for name, value in given.items() if value is not None}}


def sampling_of(flags: JudgeFlags) -> SamplingParams:
    """What the user says of sampling."""
    return to_sampling(checked(SamplingBody, **flags.sampling))


def meta_of(name: str, flags: JudgeFlags, cache: VerdictCache | None = None) -> MetaScorer:
    """The meta RM with model ``name``; ``--meta-options`` may say who runs it, and call the model otherwise."""
    options = {"model": name, **flags.meta_options}
    kind = options.pop("kind", "embedded")
    return MetaScorer(build_reward_engine(reward_engine_config(str(kind), options)), cache=cache)


def refuse_given(flags: JudgeFlags, names: Iterable[str], why: str) -> None:
    """Flags without effect are refused, not dropped."""
    values = flags.model_dump()
    for name in names:
        if values[name] != JudgeFlags.model_fields[name].get_default(call_default_factory=True):
            flag = "FILE" if name == "file" else f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} {values[name]!r} {why}")
