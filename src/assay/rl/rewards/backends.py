"""Who answers the judges of a reward: a service behind HTTP, scorers of this process, or a rule engine of our own.

Owns: which judge is asked where, and the start and end of what was made here. What was handed in is its owner's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.client import GenRMClient
from assay.core.errors import InputError
from assay.engines.catalog import build_engine, engine_config
from assay.judges.base import Judge
from assay.scoring.batch import Judging
from assay.scoring.remote import RemoteScorer
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan
from assay.wire.genrm import DEFAULT_KEY, RULES_KEY

from .config import RewardConfig


def reward_backend(config: RewardConfig, judge: Judge, route_key: str | None = None) -> Judging:
    """The service that ``config`` names; for a rule judge without a service, a rule engine of this process."""
    if judge.rule and config.genrm_url is None:
        return Scorer(build_engine(engine_config("rule", {})), reask=config.judge_reask)
    return RemoteScorer(GenRMClient(config.genrm_url), route_key=route_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    judge: Judge
    backend: Judging
    plan: VotePlan | None
    ours: bool


@dataclass(slots=True, kw_only=True)
class Backends:
    """The backends of one reward. ``given``: by route key, from whoever runs them; None makes them from ``config``."""

    config: RewardConfig
    given: Mapping[str, Judging] | None = None
    _made: dict[str, Judging] = field(default_factory=dict[str, Judging], init=False)
    _asked: list[_Asked] = field(default_factory=list[_Asked], init=False)

    def of(self, judge: Judge, route_key: str | None, plan: VotePlan | None) -> Judging:
        """Who answers ``judge``.

        Raises:
            InputError: none of the backends that were handed in has this route key.
        """
        backend = self._given(judge, route_key)
        ours = backend is None
        if backend is None:
            key = RULES_KEY if judge.rule and self.config.genrm_url is None else route_key or DEFAULT_KEY
            backend = self._made.get(key)
            if backend is None:
                backend = self._made[key] = reward_backend(self.config, judge, route_key)
        self._asked.append(_Asked(judge=judge, backend=backend, plan=plan, ours=ours))
        return backend

    async def start(self) -> None:
        """Start what was made here, and ask every service whether it has the judges.

        Raises:
            StartError: a service is not reachable or unhealthy. InputError: it lacks a judge or a route key.
        """
        started: set[int] = set()
        for asked in self._asked:
            if asked.ours and id(asked.backend) not in started:
                started.add(id(asked.backend))
                await asked.backend.start(asked.plan)
            if isinstance(asked.backend, RemoteScorer):
                await asked.backend.offers(asked.judge)

    async def close(self) -> None:
        await asyncio.gather(*(backend.close() for backend in self._made.values()))

    def _given(self, judge: Judge, route_key: str | None) -> Judging | None:
        if self.given is None:
            return None
        if judge.rule:
            return self.given.get(RULES_KEY) or next(
                (one for one in self.given.values() if isinstance(one, RemoteScorer)), None
            )
        if route_key is None and len(set(self.given) - {RULES_KEY}) == 1:
            return next(backend for key, backend in self.given.items() if key != RULES_KEY)
        found = self.given.get(route_key or DEFAULT_KEY)
        if found is None:
            raise InputError(f"no judge runs under route_key={route_key!r}; there are {sorted(self.given)}")
        return found
