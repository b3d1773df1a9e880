"""The rule engine: answers rule prompts. Owns the pool; does not own the rules, nor what an answer means to a judge."""

from __future__ import annotations

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Request, RulePrompt
from assay.engines.base import EngineHealth, EngineInfo

from .config import RuleConfig
from .pool import RulePool
from .rules import RULES, Rule


class RuleEngine:
    """Rules in child processes. Equal question, equal answer; only whether it fails may depend on the machine."""

    def __init__(self, config: RuleConfig) -> None:
        self._config = config
        self._pool: RulePool | None = None
        self._info = EngineInfo(
            model="rules",
            weight_version=",".join(rule.version() for rule in RULES.values()),
            capabilities=frozenset({"rules"}),
            batch_invariant=True,
        )

    @property
    def info(self) -> EngineInfo:
        return self._info

    async def start(self) -> None:
        """Returns when every worker has its rules loaded. Raises StartError."""
        pool = RulePool(self._config)
        await pool.start()
        self._pool = pool

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """The rule's answer, ``n`` times. Raises GenerationError: BAD_REQUEST, TIMEOUT or ENGINE_ERROR."""
        prompt = request.prompt
        if not isinstance(prompt, RulePrompt) or request.choices is not None:
            raise GenerationError(
                FailureKind.BAD_REQUEST, "the rule engine answers rules, not models' prompts; use another engine"
            )
        rule = _known(prompt.rule)
        try:
            rule.check(prompt.arguments)
        except ValueError as error:
            raise GenerationError(FailureKind.BAD_REQUEST, str(error)) from error
        if self._pool is None:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the rule engine is not running; await start() first")
        text = rule.shortcut(prompt.arguments)
        if text is None:
            text = await self._pool.answer(prompt.rule, prompt.arguments, deadline)
        return tuple(
            Completion(
                request_id=request.id,
                index=index,
                text=text,
                model=self._info.model,
                weight_version=self._info.weight_version,
            )
            for index in range(request.n)
        )

    async def health(self) -> EngineHealth:
        """Healthy while at least one worker is there."""
        pool = self._pool
        if pool is None:
            return EngineHealth(healthy=False, state="stopped", error="the rule engine is not running")
        return EngineHealth(
            healthy=pool.workers > 0,
            state="awake" if pool.workers else "starting",
            error=pool.error,
            detail={
                "workers": pool.workers,
                "running": pool.running,
                "waiting": pool.waiting,
                "expired": pool.expired,
                "replaced": pool.replaced,
            },
        )

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()


def _known(name: str) -> Rule:
    if name not in RULES:
        raise GenerationError(FailureKind.BAD_REQUEST, f"no rule is named {name!r}; there are {sorted(RULES)}")
    return RULES[name]
