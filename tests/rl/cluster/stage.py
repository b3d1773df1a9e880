"""One small training run, in one process or on a Ray cluster of eight simulated GPUs, with what it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from assay.client import GenRMClient
from assay.core.deadline import Deadline
from assay.engines.base import Engine, Tag
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.engine import EmbeddedEngine
from assay.judges import build_judge
from assay.placement import PlacementFlags, PlacementPlan, parse_cluster, place
from assay.placement.plans import Phase, PhaseKind
from assay.rl.algorithm import AlgorithmConfig
from assay.rl.batch_scoring import DeferredScoring
from assay.rl.cluster.build import ClusterParts, ClusterSettings, cluster_parts
from assay.rl.cluster.engines import Recipe
from assay.rl.cursor import Cursor
from assay.rl.local.publish import InProcess
from assay.rl.local.trainer import LocalTrainer
from assay.rl.loop import Loop, LoopConfig, LoopParts
from assay.rl.memory import Memory
from assay.rl.ports import Publisher
from assay.rl.ports import Trainer as TrainerPort
from assay.rl.residency import Moved, Presence, Residency, Resident
from assay.rl.rewards.judge import JudgeReward
from assay.rl.rollout.ahead import RolloutAhead
from assay.rl.rollout.answer import Answering
from assay.rl.rollout.config import RolloutConfig
from assay.rl.rollout.groups import Groups
from assay.rl.rollout.now import RolloutNow
from assay.rl.sample import Prompt, Reward, Sample
from assay.rl.step import StepResult
from assay.rl.tokens import load_tokenizer
from assay.scoring.batch import Judging
from assay.scoring.remote import RemoteScorer
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.instance import Instance
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.training.config import TrainerConfig
from assay.wire.genrm import GenRMConfig

STEPS = 3
LONGEST = 5
PROMPTS = [f"{word} is" for word in ("sugar", "the sea", "an hour", "winter", "gold", "a rumour")]
ROLLOUT = RolloutConfig(
    num_rollout=STEPS, rollout_batch_size=2, n_samples_per_prompt=3, rollout_max_response_len=LONGEST, rollout_seed=3
)
ALGORITHM = AlgorithmConfig(use_kl_loss=True, kl_loss_coef=0.1)
ENGINE: dict[str, Any] = {"dtype": "float64", "batch_invariant": True, "threads": 1, "device": "cpu"}
# Two updates a step, so that the second one's ratios are not 1, of small micro-batches, so that ranks share the work.
UPDATES: dict[str, Any] = {"device": "cpu", "global_batch_size": 3, "max_tokens_per_micro_batch": 40}
JUDGE: dict[str, Any] = {"min_mass": 0.0}
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}{{ '\\n' }}{% endif %}"


def save_tiny(folder: Path, *, seed: int) -> Path:
    """A random Llama of ten thousand parameters over bytes."""
    torch.manual_seed(seed)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    special = ("<|s|>", "<|e|>", "<|pad|>")
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=special[0], eos_token=special[1], pad_token=special[2]
    )
    tokenizer.chat_template = TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=4096,
        initializer_range=0.3,
        bos_token_id=256,
        eos_token_id=257,
        pad_token_id=258,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Models:
    policy: Path
    judges: Mapping[str, Path]


def save_models(folder: Path) -> Models:
    judges = {name: save_tiny(folder / name, seed=seed) for seed, name in enumerate(("quality", "safety"), 1)}
    return Models(save_tiny(folder / "policy", seed=0), judges)


def trainer(models: Models) -> TrainerConfig:
    # A large epsilon: directions without a gradient stay where they are, whatever the order of summation.
    return TrainerConfig(hf_checkpoint=str(models.policy), dtype="float64", lr=0.01, adam_eps=1e-4, **UPDATES)


@dataclass
class Outcome:
    """What a run left behind. ``presence``: phase, and who was where while it went on, as the actors say it."""

    steps: list[StepResult] = field(default_factory=list[StepResult])
    presence: list[tuple[Phase, dict[str, Presence]]] = field(default_factory=list[tuple[Phase, dict[str, Presence]]])
    said: list[str] = field(default_factory=list[str])
    told: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def losses(self) -> list[float]:
        return [result.metrics["train/loss"] for result in self.steps]

    async def after(self, result: StepResult) -> dict[str, float]:
        self.steps.append(result)
        return {}

    async def close(self) -> None: ...


class Summed:
    """The mean of what several judges say, each behind a scorer of this process or of a service."""

    grouped = False

    def __init__(self, scorers: Mapping[str, Judging]) -> None:
        judge = build_judge("tokenprob", **JUDGE)
        self._parts = [JudgeReward(judge, scorer) for scorer in scorers.values()]

    async def start(self) -> None: ...

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        told = await asyncio.gather(*(part.score(samples, deadline) for part in self._parts))
        rewards: list[Reward] = []
        for own in zip(*told, strict=True):
            failed = next((reward for reward in own if reward.failure is not None), None)
            rewards.append(failed or Reward(value=10 * sum(r.value or 0.0 for r in own) / len(own)))
        return tuple(rewards)

    async def close(self) -> None: ...


class OnDuty:
    """A judge of the service, as residency wants it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def sleep(self, tags: frozenset[Tag]) -> int:
        return await self._instance.offload(tags, Deadline.after(60))

    async def wake(self, tags: frozenset[Tag]) -> int:
        return await self._instance.onload(tags)


@asynccontextmanager
async def served(
    parts: ClusterParts, genrm: GenRMConfig
) -> AsyncGenerator[tuple[dict[str, Judging], dict[str, Resident]]]:
    """The judges behind the service's routes, on a free port of this process."""
    config = ServeConfig(genrm=genrm, judge_options={"tokenprob": JUDGE})
    app = create_app(assemble(config, parts.judges), ServiceSettings(port=0))
    async with running(app, ServiceSettings(port=0)) as url:
        scorers: dict[str, Judging] = {key: RemoteScorer(GenRMClient(url), route_key=key) for key in parts.judges}
        yield scorers, {key: OnDuty(instance) for key, instance in app.state.gateway.instances.items()}
        for scorer in scorers.values():
            await scorer.close()


class Watched(Residency):
    """Asks everybody where they are, after every move."""

    def __init__(self, residents: Mapping[str, Resident], awake: Sequence[str], look: Look, into: Outcome) -> None:
        super().__init__(residents, awake=awake)
        self._look = look
        self._into = into

    async def enter(self, phase: Phase) -> tuple[Moved, ...]:
        moved = await super().enter(phase)
        self._into.presence.append((phase, await self._look()))
        return moved


Look = Callable[[], Awaitable[dict[str, Presence]]]


def alone(models: Models, judges: Sequence[str] = ("quality",)) -> Outcome:
    """The run in one process: what all others are compared with."""
    return asyncio.run(_alone(models, judges))


async def _alone(models: Models, judges: Sequence[str]) -> Outcome:
    from assay.training.trainer import Trainer

    outcome = Outcome()
    actor = LocalTrainer(Trainer(trainer(models)), ALGORITHM.objective(LONGEST))
    rollout = EmbeddedEngine(EmbeddedConfig(model=str(models.policy), **ENGINE))
    engines = {key: EmbeddedEngine(EmbeddedConfig(model=str(models.judges[key]), **ENGINE)) for key in judges}
    async with AsyncExitStack() as stack:
        stack.push_async_callback(actor.close)
        for engine in (rollout, *engines.values()):
            stack.push_async_callback(engine.close)
            await engine.start()
        awake = ("actor", "rollout", *judges)
        phases = [Phase(kind=kind, awake=awake) for kind in (PhaseKind.GENERATE, PhaseKind.TRAIN, PhaseKind.SYNC)]
        residency = Residency({"actor": actor, "rollout": rollout, **engines}, awake=awake)
        publisher = InProcess(actor, [rollout])
        scorers = {key: Scorer(engine, instance=key) for key, engine in engines.items()}
        await _run(outcome, None, phases, actor, publisher, residency, rollout, scorers, models)
    return outcome


Meddle = Callable[[ClusterParts, Outcome], Awaitable[None]]


def on_cluster(
    said: PlacementFlags,
    models: Models,
    folder: Path,
    *,
    meddle: Meddle | None = None,
    at_the_end: Meddle | None = None,
    service: bool = False,
) -> Outcome:
    """The run on the cluster that this process is connected to; ``meddle`` runs beside it.

    ``service``: the judges are asked over HTTP, and sleep and wake as instances of a service.
    """
    return asyncio.run(_on_cluster(said, models, folder, meddle, at_the_end, service))


async def _on_cluster(
    said: PlacementFlags,
    models: Models,
    folder: Path,
    meddle: Meddle | None,
    at_the_end: Meddle | None,
    service: bool,
) -> Outcome:
    outcome, plan = Outcome(), plan_of(said)
    settings = ClusterSettings(
        trainer=trainer(models),
        published=folder / "published",
        algorithm=ALGORITHM,
        longest=LONGEST,
        rollout=Recipe(options={**ENGINE, "model": str(models.policy)}),
        judge=Recipe(options=ENGINE),
        judges=said.specs(),
        rank_threads=1,
    )
    async with cluster_parts(settings, plan, say=outcome.said.append) as parts, AsyncExitStack() as stack:
        residents = parts.residents
        if service:
            genrm = GenRMConfig(genrm_instances=said.genrm_instances)
            scorers, on_duty = await stack.enter_async_context(served(parts, genrm))
            residents |= on_duty
            await parts.start_engines(["rollout"])
        else:
            scorers = {key: Scorer(engine, instance=key) for key, engine in parts.judges.items()}
            await parts.start_engines()
        residency = Watched(residents, parts.awake, lambda: where_all_are(parts), outcome)
        meddling = None if meddle is None else asyncio.create_task(meddle(parts, outcome))
        await _run(
            outcome, plan, plan.phases, parts.trainer, parts.publisher, residency, parts.rollout, scorers, models
        )
        if meddling is not None:
            await meddling
        if at_the_end is not None:
            await at_the_end(parts, outcome)
    return outcome


async def _run(
    outcome: Outcome,
    plan: PlacementPlan | None,
    phases: Sequence[Phase],
    actor: TrainerPort,
    publisher: Publisher,
    residency: Residency,
    rollout: Engine,
    scorers: Mapping[str, Judging],
    models: Models,
) -> None:
    tokenizer = load_tokenizer(str(models.policy))
    reward = Summed(scorers)
    cursor = Cursor(rows=len(PROMPTS), seed=1)
    answering = Answering(rollout, tokenizer, ROLLOUT)
    inline = reward if plan is None or plan.inline_reward else None
    groups = Groups(answering, ROLLOUT, lambda prompt: tokenizer.render(prompt.prompt), inline)

    def prompt(ordinal: int) -> Prompt:
        return Prompt(ordinal=ordinal, prompt=PROMPTS[cursor.row(ordinal)])

    if plan is not None and plan.max_staleness:
        source = RolloutAhead(groups, cursor, prompt, ROLLOUT, max_staleness=plan.max_staleness)
    else:
        source = RolloutNow(groups, cursor, prompt, ROLLOUT)
    parts = LoopParts(
        phases=phases,
        source=source,
        trainer=actor,
        publisher=publisher,
        residency=residency,
        scoring=None if inline else DeferredScoring(Groups(answering, ROLLOUT, lambda _: (), reward)),
        observers=[outcome],
    )
    await publisher.publish()
    try:
        await Loop(
            parts, LoopConfig(num_rollout=STEPS, batching=ALGORITHM.batching(LONGEST)), Memory(max_dead_steps=0)
        ).run()
    finally:
        await source.close()


async def where_all_are(parts: ClusterParts) -> dict[str, Presence]:
    """As the actors say it themselves."""
    found: dict[str, Presence] = {}
    asleep = await parts.trainer.crew.all("asleep", timeout_s=60)
    assert len(set(asleep)) == 1
    found["actor"] = "asleep" if asleep[0] else "awake"
    for role, engine in {"rollout": parts.rollout, **parts.judges}.items():
        tags: set[frozenset[str]] = set()
        for member in engine.members:
            health = await member.engine.health()
            # One that was killed is nowhere, until another is there.
            if health.healthy:
                tags.add(frozenset(health.detail["asleep"]))
        assert len(tags) == 1
        (off,) = tags
        found[role] = "asleep" if "weights" in off else "weights" if off else "awake"
    return found


def flags(models: Models, mode: str, gpus: Mapping[str, int], **more: Any) -> PlacementFlags:
    """The flags of a mode; ``gpus``: of each judge, which has one engine."""
    instances: dict[str, Any] = {
        key: {"model_path": str(models.judges[key]), "num_gpus": count, "num_gpus_per_engine": count}
        for key, count in gpus.items()
    }
    if mode == "co-resident":
        for instance in instances.values():
            instance["engine_config"] = {"mem_fraction_static": 0.3}
        more["sglang_mem_fraction_static"] = 0.6
    if mode == "defer-swap":
        more |= {"rm_type": "dummy", "defer_reward_to_post_process": True}
    alone = mode == "fully-async"
    return PlacementFlags(genrm_instances=instances, fully_async=alone, colocate=not alone, **more)


def plan_of(said: PlacementFlags) -> PlacementPlan:
    """The plan on one node of eight."""
    return place(said, parse_cluster("1x8xH200"))
