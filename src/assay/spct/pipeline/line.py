"""From a recipe to the stages of its main line: items, cold start, rejection sampling, fine-tuning, RL, meta RM, votes.

Every pool of items has a seed of its own, so that none is trained on and measured on. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.core.types import Json

from ..plan import RftPlan
from .recipe import META, MODELS, RL, SFT, Model, SpctRecipe
from .stage import HERE, At, Command, Joined, Stage, Word

GREEDY, VOTES = "greedy.parquet", "votes.parquet"
"""What is recorded of a model on the held-out items."""
RUN, MODEL = "run", "run/model"
POOLS = ("items", "held", "cold", "general", "meta")
"""Each pool's place among the seeds."""
ITEMS, GENERAL, COLD, SAMPLES, RFT, SFT_STAGE, RL_STAGE, TRAJECTORIES, META_STAGE, WEIGHED = (
    *("items", "general", "cold", "samples", "rft", "sft", "rl", "trajectories", "meta", "evaluate-meta"),
)
HELD, PROMPTS, FOR_META = (
    At(ITEMS, "held.jsonl"),
    At(ITEMS, "prompts.jsonl"),
    At(ITEMS, "meta.jsonl"),
)


_ASKED = ("k", "temperature", "max_new_tokens")


def evaluated(model: Model) -> str:
    """The stage that measures a model."""
    return f"evaluate-{model}"


def stages(
    recipe: SpctRecipe, *, skip_sft: bool = False, digests: Mapping[str, str] | None = None
) -> tuple[Stage, ...]:
    """All stages, each behind those that it needs.

    Args:
        skip_sft: RL begins with the cold model.
        digests: hashes of the files that the recipe names, by their paths: other content is another stage.
    """
    found = [_items(recipe), _cold(recipe, digests or {})]
    if recipe.rft.ratio:
        found.append(_general(recipe))
    found += [
        _samples(recipe),
        _rft(recipe),
        _sft(recipe),
        _rl(recipe, skip_sft=skip_sft),
        _trajectories(recipe),
        _meta(recipe),
    ]
    found += [_votes(recipe, model) for model in MODELS]
    return (*found, _weighed(recipe))


def seed_of(recipe: SpctRecipe, pool: str) -> int:
    """The seed of a pool of items."""
    return len(POOLS) * recipe.seed + POOLS.index(pool)


def _items(recipe: SpctRecipe) -> Stage:
    items, every = recipe.items, recipe.items.sources
    several = [shape for shape in items.shapes if shape != "single"]
    commands = [
        _generate(recipe, f"train-{name}", "items", (name,), items.train, items.shapes) for name in items.sources
    ]
    commands += [
        _generate(recipe, "held", "held", every, items.held * len(every), several, side="held"),
        _generate(recipe, "meta", "meta", every, items.meta * len(every), several),
    ]
    if items.general:
        commands.append(_generate(recipe, "prompts", "general", every, items.general, ("single",)))
    return Stage(
        name=ITEMS,
        about="items to train on, and others to measure on",
        commands=tuple(commands),
        settings=_settings(recipe, "seed", "language", "items"),
    )


def _generate(
    recipe: SpctRecipe, name: str, pool: str, kinds: Iterable[str], count: int, shapes: Iterable[str], **more: str
) -> Command:
    file = f"{name}.jsonl"
    words: list[Word] = ["data", "generate", "--fresh", "-o", At(HERE, file), "-n", str(count)]
    words += ["--seed", str(seed_of(recipe, pool)), "--language", recipe.language]
    words += [word for kind in kinds for word in ("--kind", kind)] + ["--each"]
    words += [word for shape in shapes for word in ("--shape", shape)]
    words += [word for flag, value in more.items() for word in (f"--{flag}", value)]
    return Command(name=name, words=tuple(words), makes=file)


def _cold(recipe: SpctRecipe, digests: Mapping[str, str]) -> Stage:
    shapes = [shape for shape in recipe.items.shapes if shape != "single" or recipe.judge == "pointwise"]
    given = {} if recipe.principles is None else {"principles": recipe.principles}
    texts = _generate(
        recipe, "texts", "cold", recipe.trained_on, recipe.cold.texts, shapes, judge=recipe.judge, **given
    )
    flags = {**SFT, **recipe.cold.sft, "data": At(HERE, "texts.jsonl"), "hf_checkpoint": recipe.base}
    settings = _settings(recipe, "base", "judge", "language", "principles", "leave_out", "seed", "cold")
    if recipe.principles in digests:
        settings["principles (content)"] = digests[str(recipe.principles)]
    return Stage(
        name=COLD,
        about="cold start: the base model on correct texts by rule",
        commands=(texts, _fit("sft", flags)),
        settings=settings,
        minutes=recipe.cold.sft.get("minutes"),
    )


def _general(recipe: SpctRecipe) -> Stage:
    return Stage(
        name=GENERAL,
        about="general rows: the base model's own answers to prompts",
        needs=(ITEMS,),
        commands=(
            Command(
                name="answers",
                words=("data", "answer", PROMPTS, "-o", At(HERE, "general.jsonl"), "--sampling", _sampling(recipe)),
                makes="general.jsonl",
                asks="samples",
                model=recipe.base,
                skips=True,
            ),
        ),
        settings=_settings(recipe, "base"),
    )


def _samples(recipe: SpctRecipe) -> Stage:
    """All that is asked, so that other ways to keep it ask nothing again."""
    plan = recipe.rft
    asked = {name: value for name, value in plan if name in ("hint_strength", "keep_easy") and value}
    words = [*_rft_words(recipe), "--n", str(plan.n), *(word for one in asked.items() for word in _flag(*one))]
    own = ("rft.n", "rft.hint_strength", "rft.keep_easy", "rft.sampling")
    return Stage(
        name=SAMPLES,
        about="rejection sampling: the cold model's samples, without a hint and with one",
        needs=(ITEMS, COLD),
        commands=(_sampled(words, "out/report.json"),),
        settings=_settings(recipe, "judge", "principles", "leave_out", "seed", *own),
    )


def _rft(recipe: SpctRecipe) -> Stage:
    plan = recipe.rft
    words = [*_rft_words(recipe), "--recorded", At(SAMPLES, "out")]
    for name, value in plan:
        if name in RftPlan.model_fields and value != RftPlan.model_fields[name].default and name != "seed":
            words += _flag(name, value)
    if plan.ratio:
        words += ["--general", At(GENERAL, "general.jsonl")]
    return Stage(
        name=RFT,
        about="rejection: the rows that are kept, and general ones",
        needs=(ITEMS, COLD, SAMPLES, GENERAL) if plan.ratio else (ITEMS, COLD, SAMPLES),
        commands=(_sampled(words, "out/sft.jsonl"),),
        settings=_settings(recipe, "judge", "principles", "leave_out", "seed", "rft"),
    )


def _rft_words(recipe: SpctRecipe) -> tuple[Word, ...]:
    items = (At(ITEMS, f"train-{name}.jsonl") for name in recipe.trained_on)
    asked = (*_judge(recipe), "--sampling", _json(recipe.rft.sampling), "--seed", str(recipe.seed))
    return ("rft", *items, "-o", At(HERE, "out"), *asked)


def _sampled(words: Iterable[Word], made: str) -> Command:
    return Command(name="rft", words=tuple(words), makes=made, asks="samples", model=At(COLD, MODEL), skips=True)


def _sft(recipe: SpctRecipe) -> Stage:
    flags = {**SFT, **recipe.sft, "data": At(RFT, "out/sft.jsonl"), "hf_checkpoint": At(COLD, MODEL)}
    return Stage(
        name=SFT_STAGE,
        about="rejective fine-tuning: the cold model on the rows of rejection sampling",
        needs=(COLD, RFT),
        commands=(_fit("sft", flags),),
        settings=_settings(recipe, "sft"),
        minutes=recipe.sft.get("minutes"),
    )


def _rl(recipe: SpctRecipe, *, skip_sft: bool) -> Stage:
    begin = COLD if skip_sft else SFT_STAGE
    flags: dict[str, Json | At | Joined] = {**RL, **recipe.rl, "rm_type": "grm-outcome", "export_model": True}
    flags |= {"prompt_data": At(RFT, "out/rl.jsonl"), "hf_checkpoint": At(begin, MODEL), "run_dir": At(HERE, RUN)}
    train = Command(
        name="train", words=("train",), flags=flags, makes=MODEL, asks="rolls", model=At(begin, MODEL), timed=True
    )
    return Stage(
        name=RL_STAGE,
        about="rule-based RL: +1 for a right verdict, else -1",
        needs=(RFT, begin),
        commands=(train,),
        settings={**_settings(recipe, "rl"), "begins with": begin},
        minutes=recipe.rl.get("minutes"),
    )


def _trajectories(recipe: SpctRecipe) -> Stage:
    sampling = {"temperature": recipe.evaluate.temperature, "max_new_tokens": recipe.evaluate.max_new_tokens}
    votes = _asked(recipe, "votes", FOR_META, VOTES, At(RL_STAGE, MODEL), sampling, k=recipe.meta.k)
    return Stage(
        name=TRAJECTORIES,
        about="votes of the reinforced judge, for the meta RM",
        needs=(ITEMS, RL_STAGE),
        commands=(votes,),
        settings={"meta.k": recipe.meta.k},
    )


def _meta(recipe: SpctRecipe) -> Stage:
    data = Joined((At(SAMPLES, "out/samples.parquet"), At(TRAJECTORIES, VOTES)))
    flags = {**META, **recipe.meta.rm, "kind": "meta", "data": data, "hf_checkpoint": At(SFT_STAGE, MODEL)}
    return Stage(
        name=META_STAGE,
        about="meta RM: is a judgment right?",
        needs=(SAMPLES, SFT_STAGE, TRAJECTORIES),
        commands=(_fit("rm", flags),),
        settings=_settings(recipe, "meta.rm"),
        minutes=recipe.meta.rm.get("minutes"),
    )


def _votes(recipe: SpctRecipe, model: Model) -> Stage:
    how, source = recipe.evaluate, {"cold": COLD, "rft": SFT_STAGE, "rl": RL_STAGE}.get(model)
    whose: Word = recipe.base if source is None else At(source, MODEL)
    greedy = {"temperature": 0.0, "max_new_tokens": how.max_new_tokens}
    return Stage(
        name=evaluated(model),
        about=f"the {model} model on the held-out items: greedy, and {how.k} votes",
        needs=(ITEMS,) if source is None else (ITEMS, source),
        commands=(
            _asked(recipe, "greedy", HELD, GREEDY, whose, greedy),
            _asked(recipe, "votes", HELD, VOTES, whose, {**greedy, "temperature": how.temperature}, k=how.k),
        ),
        settings=_settings(recipe, "judge", "principles", "seed", *(f"evaluate.{name}" for name in _ASKED)),
    )


def _weighed(recipe: SpctRecipe) -> Stage:
    """The meta RM's logits of every model's votes, as replays, which ask no judge."""
    how = recipe.evaluate
    kept = () if how.k_meta is None else ("--k-meta", str(how.k_meta))
    options = ("--meta-options", _json(recipe.meta.options)) if recipe.meta.options else ()
    commands = [
        Command(
            name=model,
            words=(
                *("judge", "--replay", At(evaluated(model), VOTES), "--out", At(HERE, f"{model}.parquet"), "--fresh"),
                *(*_judge(recipe), "--meta", At(META_STAGE, MODEL), *kept, *options),
            ),
            makes=f"{model}.parquet",
            skips=True,
        )
        for model in recipe.meta.models
    ]
    return Stage(
        name=WEIGHED,
        about="the meta RM on all votes",
        needs=(META_STAGE, *(evaluated(model) for model in recipe.meta.models)),
        commands=tuple(commands),
        settings=_settings(recipe, "evaluate.k_meta", "meta.models", "meta.options"),
    )


def _asked(
    recipe: SpctRecipe, name: str, items: At, out: str, model: Word, sampling: Mapping[str, Any], k: int | None = None
) -> Command:
    votes = () if k is None else ("--k", str(k))
    words = ("judge", items, "--need-gold", "--out", At(HERE, out), *_judge(recipe), *votes, "--reask", "0")
    more = ("--seed", str(recipe.seed), "--sampling", _json(sampling))
    return Command(name=name, words=(*words, *more), makes=out, asks="samples", model=model, skips=True)


def _fit(verb: str, flags: Mapping[str, Json | At | Joined]) -> Command:
    return Command(name=verb, words=(verb,), flags={**flags, "run_dir": At(HERE, RUN)}, makes=MODEL, timed=True)


def _judge(recipe: SpctRecipe) -> tuple[str, ...]:
    given = () if recipe.principles is None else ("--principles", recipe.principles)
    return ("--judge", recipe.judge, "--language", recipe.language, *given)


def _sampling(recipe: SpctRecipe) -> str:
    return _json({"temperature": 0.7, "max_new_tokens": recipe.evaluate.max_new_tokens})


def _flag(name: str, value: Any) -> Iterator[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        yield f"--{flag}" if value else f"--no-{flag}"
    else:
        yield from (f"--{flag}", str(value))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _settings(recipe: SpctRecipe, *names: str) -> dict[str, Json]:
    """Parts of the recipe, flat, by dotted names."""
    told = recipe.model_dump(mode="json")
    found: dict[str, Json] = {}
    for name in names:
        value: Any = told
        for part in name.split("."):
            value = value[part]
        found |= dict(_flat(name, value))
    return found


def _flat(name: str, value: Any) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        yield name, value
