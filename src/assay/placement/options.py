"""The ways to run the same job on the same GPUs, as flags: splits of the pool, shares of the cards, pools apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .flags import PlacementFlags
from .plans import Mode

MOST = 8
"""Splits of a pool that are tried; of more, evenly spaced ones."""

SHARES = ((0.6, 0.3), (0.45, 0.45), (0.3, 0.6))
"""Shares of a card for rollout and judge that are tried."""


def options(flags: PlacementFlags, total: int) -> Iterator[tuple[Mode, str, PlacementFlags]]:
    """Mode, what it is in words, and the flags; not all of them are legal or fit."""
    step = flags.rollout_num_gpus_per_engine
    for genrm, judges in _judge_sizes(flags, total):
        if (total - genrm) % step == 0 and genrm < total:
            yield Mode.SPLIT, f"rollout {total - genrm}, judges {genrm}", _colocate(flags, total, total - genrm, judges)
        for actor in _spaced([n for n in range(1, total - genrm) if (total - genrm - n) % step == 0]):
            rollout = total - genrm - actor
            yield (
                Mode.FULLY_ASYNC,
                f"actor {actor}, rollout {rollout}, judges {genrm}",
                _apart(flags, actor, rollout, judges),
            )
        if genrm == total:
            for rollout, judge in SHARES:
                shared = _colocate(flags, total, total, _with_share(judges, judge))
                yield (
                    Mode.CO_RESIDENT,
                    f"all {total}, shares {rollout:g} and {judge:g}",
                    shared.model_copy(update={"sglang_mem_fraction_static": rollout}),
                )
            yield Mode.DEFER_SWAP, f"all {total}, one after the other", _deferred(flags, total, judges)


def _judge_sizes(flags: PlacementFlags, total: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """GPUs of all judges together, and their instances; several judges keep their proportions."""
    specs = flags.specs()
    if not specs:
        yield 0, {}
        return
    own = sum(spec.num_gpus for spec in specs.values())
    sizes: list[tuple[int, dict[str, Any]]] = []
    for genrm in range(1, total + 1):
        instances: dict[str, Any] = {}
        for key, spec in specs.items():
            gpus, rest = divmod(spec.num_gpus * genrm, own) if own else (0, 1)
            if rest or gpus % spec.num_gpus_per_engine:
                break
            instances[key] = {
                "model_path": spec.model_path,
                "num_gpus": gpus,
                "num_gpus_per_engine": spec.num_gpus_per_engine,
                "engine_config": spec.engine.model_dump(exclude_none=True),
            }
        else:
            sizes.append((genrm, instances))
    yield from _spaced(sizes)


def _spaced(all_of_them: list[Any]) -> list[Any]:
    if len(all_of_them) <= MOST:
        return all_of_them
    last = len(all_of_them) - 1
    return [all_of_them[round(i * last / (MOST - 1))] for i in range(MOST)]


def _common(flags: PlacementFlags, judges: dict[str, Any]) -> dict[str, Any]:
    single = list(judges) == ["__default__"]
    given: dict[str, Any] = {"rollout_num_gpus_per_engine": flags.rollout_num_gpus_per_engine}
    if single:
        (one,) = judges.values()
        given |= {
            "genrm_model_path": one["model_path"],
            "genrm_num_gpus": one["num_gpus"],
            "genrm_num_gpus_per_engine": one["num_gpus_per_engine"],
            "genrm_engine_config": one["engine_config"],
        }
    elif judges:
        given["genrm_instances"] = judges
    return given


def _without_shares(judges: dict[str, Any]) -> dict[str, Any]:
    return _with_share(judges, None)


def _with_share(judges: dict[str, Any], share: float | None) -> dict[str, Any]:
    return {
        key: {**one, "engine_config": {**one["engine_config"], "mem_fraction_static": share}}
        for key, one in judges.items()
    }


def _colocate(flags: PlacementFlags, actor: int, rollout: int, judges: dict[str, Any]) -> PlacementFlags:
    shared = rollout == actor and judges
    given = _common(flags, judges if shared else _without_shares(judges))
    return PlacementFlags.model_validate(
        {**given, "colocate": True, "resource": {"actor": (1, actor), "rollout": (1, rollout)}}
    )


def _deferred(flags: PlacementFlags, total: int, judges: dict[str, Any]) -> PlacementFlags:
    plain = _colocate(flags, total, total, _without_shares(judges))
    return plain.model_copy(update={"rm_type": "dummy", "defer_reward_to_post_process": True})


def _apart(flags: PlacementFlags, actor: int, rollout: int, judges: dict[str, Any]) -> PlacementFlags:
    given = _common(flags, _without_shares(judges))
    staleness = 1 if flags.max_staleness is None else flags.max_staleness
    return PlacementFlags.model_validate(
        {
            **given,
            "fully_async": True,
            "max_staleness": staleness,
            "resource": {"actor": (1, actor), "rollout": (1, rollout)},
        }
    )
