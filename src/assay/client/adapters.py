"""Reward functions for TRL, verl and OpenRLHF that ask a judge of the service; ``JudgeScores`` for anything else.

A judgment that fails is a typed ``Failure`` here. What a framework can take in its place differs: TRL takes None and
leaves the sample out; verl and OpenRLHF take numbers only, so there a failure raises ``JudgmentFailed``, unless the
user names the number that it shall count as. Owns: the shapes of those frameworks. Does not own: retries (the client).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from assay.core.errors import AssayError, InputError
from assay.core.types import Candidate, Failure, FailureKind, Item, Message
from assay.voting.plan import VotePlan
from assay.wire.score import to_outcome

from .default import get_genrm_client
from .errors import GenRMError

Asked: TypeAlias = "str | Sequence[Mapping[str, Any]]"
"""A question: a text, or a chat list of role and content."""

_SAME_FOR_ALL = frozenset({401, 403, 404, 405, 422})
"""Refusals that every further answer would get too."""

END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>", "<eos>")
"""What OpenRLHF leaves at the end of a response."""


class JudgmentFailed(AssayError):
    """A judgment came to none, and the framework has no way to leave the sample out."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.detail} (name a number with failure_as to train on it anyway)")
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeScores:
    """Scores of one judge. ``url``: else ``ASSAY_GENRM_URL``, else the local default; ``seed``: see ``/score``."""

    judge: str = "verifier"
    url: str | None = None
    route_key: str | None = None
    plan: VotePlan | None = None
    seed: int = 0
    deadline_s: float = 600.0

    async def one(self, question: Asked, answer: str, reference: str | None = None) -> float | Failure:
        """The score of one answer, or why there is none.

        Raises:
            InputError: the service refuses what it would refuse for every answer (no such judge, a missing reference).
        """
        item = Item(id="", messages=_messages(question), candidates=(Candidate(text=answer),), reference=reference)
        try:
            reply = await get_genrm_client(self.url).score(
                self.judge,
                item,
                route_key=self.route_key,
                seed=self.seed,
                plan=self.plan,
                deadline_s=self.deadline_s,
            )
        except GenRMError as error:
            if error.status in _SAME_FOR_ALL:
                raise InputError(f"the judge service refuses: {error}") from error
            return error.failure()
        outcome = to_outcome(reply)
        if isinstance(outcome, Failure):
            return outcome
        if outcome.scores is None:
            return Failure(kind=FailureKind.BAD_REQUEST, detail=f"judge {self.judge!r} gives no score to one answer")
        return outcome.scores[0]

    async def many(
        self, questions: Sequence[Asked], answers: Sequence[str], references: Sequence[str | None]
    ) -> list[float | Failure]:
        """The scores of many answers, asked side by side. Raises as ``one`` does."""
        rows = zip(questions, answers, references, strict=True)
        return list(await asyncio.gather(*(self.one(*row) for row in rows)))


def trl_reward(scores: JudgeScores, *, reference: str | None = "label") -> Callable[..., Coroutine[Any, Any, Any]]:
    """A reward function for TRL (``reward_funcs=[...]``); a judgment that fails is None, which TRL leaves out.

    ``reference``: the column of the gold answers; None where the judge needs none.
    """

    async def judge_reward(
        prompts: Sequence[Asked], completions: Sequence[Asked], **columns: Any
    ) -> list[float | None]:
        if reference is not None and reference not in columns:
            raise InputError(
                f"the dataset has no column {reference!r} for the judge's reference; it has {list(columns)}"
            )
        gold = [None] * len(prompts) if reference is None else [str(one) for one in columns[reference]]
        found = await scores.many(prompts, [_answer(one) for one in completions], gold)
        return [None if isinstance(one, Failure) else one for one in found]

    return judge_reward


def verl_reward(
    scores: JudgeScores, *, question: str = "question", failure_as: float | None = None
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A ``compute_score`` for verl (``reward.custom_reward_function.path`` and ``.name``).

    ``question``: where in ``extra_info`` the question stands.
    """

    async def compute_score(
        data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **_: Any
    ) -> dict[str, Any]:
        asked = (extra_info or {}).get(question)
        if asked is None:
            raise InputError(f"{data_source}: extra_info has no {question!r} to judge the answer by")
        found = await scores.one(asked, solution_str, None if ground_truth is None else str(ground_truth))
        return {"score": _number(found, failure_as), "judge_failed": float(isinstance(found, Failure))}

    return compute_score


def openrlhf_reward(
    scores: JudgeScores, *, failure_as: float | None = None, end_tokens: Sequence[str] = END_TOKENS
) -> Callable[..., dict[str, Any]]:
    """A ``reward_func`` for OpenRLHF (``--reward.remote_url file.py``), which calls it with whole batches of texts."""

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
        import torch

        answers = [_response(query, prompt, end_tokens) for query, prompt in zip(queries, prompts, strict=True)]
        gold = [None if label is None or label == "" else str(label) for label in labels]
        found = _apart(scores, prompts, answers, gold)
        rewards = torch.tensor([_number(one, failure_as) for one in found], dtype=torch.float32)
        failed = torch.tensor([float(isinstance(one, Failure)) for one in found])
        return {"rewards": rewards, "scores": rewards, "extra_logs": {"judge_failed": failed}}

    return reward_func


def _apart(
    scores: JudgeScores, questions: Sequence[Asked], answers: Sequence[str], references: Sequence[str | None]
) -> list[float | Failure]:
    """``JudgeScores.many`` for code without an event loop, or within somebody else's: in a thread with its own."""

    async def run() -> list[float | Failure]:
        try:
            return await scores.many(questions, answers, references)
        finally:
            await get_genrm_client(scores.url).close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()


def _messages(question: Asked) -> tuple[Message, ...]:
    if isinstance(question, str):
        return (Message(role="user", content=question),)
    return tuple(Message(role=str(turn["role"]), content=turn["content"]) for turn in question)


def _answer(completion: Asked) -> str:
    """The text of a completion: of a chat list that of its last turn."""
    return completion if isinstance(completion, str) else _messages(completion)[-1].text


def _response(query: str, prompt: str, end_tokens: Sequence[str]) -> str:
    """The response in a text that is prompt and response together."""
    text = query.removeprefix(prompt).strip()
    for token in end_tokens:
        text = text.removesuffix(token)
    return text.strip()


def _number(found: float | Failure, failure_as: float | None) -> float:
    if not isinstance(found, Failure):
        return found
    if failure_as is None:
        raise JudgmentFailed(found)
    return failure_as
