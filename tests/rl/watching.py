"""What the tests of observers share: samples, groups and steps, a policy of few words, a rule for rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, Failure, FailureKind, Request, TokenPrompt
from assay.engines.base import EngineHealth, EngineInfo
from assay.rl.advantages.estimators import AdvantageConfig, estimate
from assay.rl.rewards.failures import settle
from assay.rl.sample import Group, Prompt, PromptText, Reward, Sample, Status
from assay.rl.step import StepResult

PARSE_ERROR = Failure(kind=FailureKind.PARSE_ERROR, detail="no verdict", text="hm")
TIMEOUT = Failure(kind=FailureKind.TIMEOUT, detail="600 s")


def sample(
    reward: Reward | float | Failure | None, *, ordinal: int = 0, index: int = 0, length: int = 3, label: str = "4"
) -> Sample:
    """An answer of ``length`` tokens that earned this; a failure is the judge's."""
    if isinstance(reward, Failure):
        reward = Reward(failure=reward, judge="verifier")
    elif isinstance(reward, float | int):
        reward = Reward(value=float(reward), judge="verifier", text=f"says {reward:g}")
    return Sample(
        group_index=ordinal,
        index=index,
        prompt="What is 2 + 2?",
        label=label,
        prompt_ids=(1, 2),
        response_ids=tuple(range(length)),
        response="4" * length,
        loss_mask=(True,) * length,
        rollout_log_probs=(-0.5,) * length,
        weight_versions=("v0",) * length,
        reward=reward,
    )


def lost(ordinal: int = 0, index: int = 0) -> Sample:
    """An answer that the rollout engine never gave."""
    return Sample(
        group_index=ordinal,
        index=index,
        prompt="What is 2 + 2?",
        status=Status.FAILED,
        failure=TIMEOUT,
        prompt_ids=(1,),
    )


def group(*samples: Sample) -> Group:
    first = samples[0]
    prompt = Prompt(ordinal=first.group_index, prompt=first.prompt, label=first.label)
    return Group(prompt=prompt, samples=samples)


def rewarded(*rewards: float | Failure | None, ordinal: int = 0) -> Group:
    return group(*(sample(one, ordinal=ordinal, index=index) for index, one in enumerate(rewards)))


def stepped(
    step: int, groups: Sequence[Group] = (), metrics: Mapping[str, float] | None = None, filtered: Sequence[Group] = ()
) -> StepResult:
    """A step with GRPO's advantages."""
    rewards = [settle(one, "mask") for one in groups]
    lengths = [[sum(s.loss_mask) for s in one.samples] for one in groups]
    return StepResult(
        step=step,
        groups=tuple(groups),
        advantages=estimate(rewards, lengths, AdvantageConfig()) if groups else (),
        filtered=tuple(filtered),
        metrics=dict(metrics or {}),
    )


class Letters:
    """A tokenizer whose tokens are letters."""

    def render(self, prompt: PromptText) -> tuple[int, ...]:
        return self.encode(prompt if isinstance(prompt, str) else "\n".join(turn.text for turn in prompt))

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


class Parrot:
    """A policy that answers by a function of the prompt and of how often that prompt was answered; None is a fault."""

    def __init__(self, say: Callable[[str, int], str | None]) -> None:
        self.say = say
        self.asked: list[Request] = []
        self._times: dict[str, int] = {}
        self.info = EngineInfo(model="parrot", weight_version="v0", capabilities=frozenset({"tokens", "logprobs"}))

    async def start(self) -> None: ...

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        assert isinstance(request.prompt, TokenPrompt)
        self.asked.append(request)
        prompt = Letters().decode(request.prompt.token_ids)
        time = self._times[prompt] = self._times.get(prompt, -1) + 1
        said = self.say(prompt, time)
        if said is None:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the engine broke")
        room = request.sampling.max_new_tokens
        assert room is not None
        ids = Letters().encode(said)[:room]
        done = Completion(
            request_id=request.id,
            text=said,
            token_ids=ids,
            logprobs=(-0.1,) * len(ids),
            finish_reason="length" if len(said) > room else "stop",
            weight_version="v0",
        )
        return (done,)

    async def health(self) -> EngineHealth:
        return EngineHealth(healthy=True, state="awake")

    async def close(self) -> None: ...


class Equal:
    """1 where the answer is the label, else 0; ``?`` cannot be judged."""

    grouped = False

    async def start(self) -> None: ...

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        return tuple(
            Reward(failure=PARSE_ERROR) if one.response == "?" else Reward(value=float(one.response == one.label))
            for one in samples
        )

    async def close(self) -> None: ...
