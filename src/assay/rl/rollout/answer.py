"""One answer of the policy, turn after turn, with every token's log-prob, mask and weight version.

Owns: the growing of a sample. Does not own: groups and batches (``batch``), rewards, the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.seeds import derive_seed, digest
from assay.core.types import Completion, FailureKind, Request, TokenPrompt
from assay.engines.base import Engine, StreamingEngine

from ..sample import Sample, Status
from ..tokens import PolicyTokenizer
from .config import RolloutConfig
from .turns import Environment

PURPOSE = "policy"


class Answering:
    """Answers samples with one engine."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: PolicyTokenizer,
        config: RolloutConfig,
        environment: Environment | None = None,
    ) -> None:
        self._engine = engine
        self._tokenizer = tokenizer
        self._config = config
        self._environment = environment

    async def answer(self, sample: Sample, keep: Callable[[Sample], None] | None = None) -> Sample:
        """The sample, gone on with until it is complete, cut off, or failed. Cancellation passes through.

        Args:
            keep: is told the sample as it grows (``Status.ABORTED``), so that a cancelled answer is not lost; needs an
                engine that streams.
        """
        sample = replace(sample, status=Status.COMPLETED)
        while True:
            room = self._config.rollout_max_response_len - sample.response_length
            if room < 1:
                return replace(sample, status=Status.TRUNCATED)
            try:
                sample, finished = self._grown(sample, await self._turn(sample, room, keep))
            except GenerationError as error:
                return replace(sample, status=Status.FAILED, failure=error.failure())
            if not finished:
                return replace(sample, status=Status.TRUNCATED)
            said = None if self._environment is None else await self._environment.reply(sample)
            if said is None:
                return sample
            sample = self._heard(sample, self._tokenizer.encode(said))

    async def _turn(self, sample: Sample, room: int, keep: Callable[[Sample], None] | None) -> Completion:
        seed = turn_seed(sample, self._config.rollout_seed)
        request = Request(
            id=f"rollout-{sample.group_index}-{sample.index}-{sample.response_length}",
            prompt=TokenPrompt(token_ids=sample.tokens),
            sampling=self._config.sampling(room, seed),
        )
        deadline = Deadline.after(self._config.rollout_timeout_s)
        if keep is not None and isinstance(self._engine, StreamingEngine):
            return await self._streamed(self._engine, request, deadline, sample, keep)
        (completion,) = await self._engine.generate(request, deadline)
        return completion

    async def _streamed(
        self,
        engine: StreamingEngine,
        request: Request,
        deadline: Deadline,
        sample: Sample,
        keep: Callable[[Sample], None],
    ) -> Completion:
        """A turn that can be gone on with wherever it is cut off. The weights stay the same during a turn."""
        so_far = Completion(
            request_id=request.id, text="", logprobs=(), weight_version=self._engine.info.weight_version
        )
        async for delta in engine.stream(request, deadline):
            so_far = replace(
                so_far,
                token_ids=so_far.token_ids + delta.token_ids,
                logprobs=(so_far.logprobs or ()) + (delta.logprobs or ()),
                finish_reason=delta.finish_reason or so_far.finish_reason,
            )
            if so_far.token_ids and delta.finish_reason is None:
                keep(replace(self._grown(sample, so_far)[0], status=Status.ABORTED))
        return so_far

    def _grown(self, sample: Sample, completion: Completion) -> tuple[Sample, bool]:
        """The sample with a turn of the policy; whether that turn came to its end."""
        ids = completion.token_ids
        if completion.logprobs is None or len(completion.logprobs) != len(ids):
            got = "none" if completion.logprobs is None else str(len(completion.logprobs))
            raise GenerationError(
                FailureKind.ENGINE_ERROR, f"the engine returned {got} log-probs for {len(ids)} tokens of the policy"
            )
        if completion.finish_reason == "abort":
            raise GenerationError(FailureKind.CANCELLED, "the engine aborted the policy's answer")
        response_ids = sample.response_ids + ids
        grown = replace(
            sample,
            response_ids=response_ids,
            response=self._tokenizer.decode(response_ids),
            loss_mask=sample.loss_mask + (True,) * len(ids),
            rollout_log_probs=sample.rollout_log_probs + completion.logprobs,
            weight_versions=sample.weight_versions + (completion.weight_version,) * len(ids),
        )
        return grown, completion.finish_reason == "stop"

    def _heard(self, sample: Sample, ids: Sequence[int]) -> Sample:
        """The sample with tokens that the policy did not write."""
        response_ids = (*sample.response_ids, *ids)
        return replace(
            sample,
            response_ids=response_ids,
            response=self._tokenizer.decode(response_ids),
            loss_mask=sample.loss_mask + (False,) * len(ids),
            rollout_log_probs=sample.rollout_log_probs + (0.0,) * len(ids),
            weight_versions=sample.weight_versions + ("",) * len(ids),
        )


def turn_seed(sample: Sample, base: int) -> int:
    """The seed of the next turn: it follows from the prompt, from which drawing of it this is, and from the place."""
    content = digest([sample.group_index, list(sample.prompt_ids)])
    return derive_seed(content, PURPOSE, sample.index, f"turn-{sample.response_length}", base=base)
