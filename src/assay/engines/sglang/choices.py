"""Requests with a fixed list of replies: ln P(whole reply | prompt) of each, as the embedded engine reads them.

The first tokens of all replies are read off one forward pass over the prompt, with no decoding. A reply of several
tokens costs one more call, whose prompt is that prompt with the reply behind it; only the reply's own tokens are
computed anew.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, Completion, FailureKind, Request, TokenPrompt

from .body import Facts, check_prompt, messages_json
from .failures import malformed, overflow
from .reply import count, numbers, outputs

Ask = Callable[[str, dict[str, Any], Deadline], Awaitable[Any]]
"""Posts a body to a path; the JSON of the reply."""

_PLAIN = {"temperature": 1.0, "top_p": 1.0, "top_k": -1}
_KEPT = 4096


class Chooser:
    """Scores replies on one server. Remembers the token ids of the replies that it was asked about."""

    def __init__(self, ask: Ask, facts: Facts) -> None:
        self._ask = ask
        self._facts = facts
        self._ids: dict[str, tuple[int, ...]] = {}

    async def score(self, request: Request, choices: Sequence[str], deadline: Deadline) -> Completion:
        """The likeliest reply, with the log-probs and the mass of all. Raises GenerationError."""
        prompt = await self._prompt_ids(request, deadline)
        replies = await self._reply_ids(choices, deadline)
        need = len(prompt) + max(len(reply) for reply in replies)
        if self._facts.context_len is not None and need > self._facts.context_len:
            raise overflow(need, self._facts.context_len)
        meta, firsts = await self._firsts(prompt, sorted({reply[0] for reply in replies}), deadline)
        longer = [reply for reply in replies if len(reply) > 1]
        rests = await self._rests(prompt, longer, deadline)
        each = [(firsts[reply[0]], *rests.get(reply, ())) for reply in replies]
        totals = [math.fsum(own) for own in each]
        best = max(range(len(totals)), key=totals.__getitem__)
        return Completion(
            request_id=request.id,
            text=choices[best],
            token_ids=replies[best],
            logprobs=each[best],
            completion_tokens=len(replies[best]),
            choice_logprobs=tuple(totals),
            mass=math.fsum(math.exp(total) for total in totals),
            prompt_tokens=len(prompt),
            cached_tokens=count(meta.get("cached_tokens")),
            weight_version=str(meta.get("weight_version") or ""),
        )

    async def _prompt_ids(self, request: Request, deadline: Deadline) -> tuple[int, ...]:
        prompt = request.prompt
        if not isinstance(prompt, ChatPrompt | TokenPrompt):
            raise GenerationError(FailureKind.BAD_REQUEST, "SGLang answers no rules; use the rule engine")
        check_prompt(prompt, self._facts)
        if isinstance(prompt, TokenPrompt):
            return prompt.token_ids
        if any(not isinstance(message.content, str) for message in prompt.messages):
            raise GenerationError(FailureKind.BAD_REQUEST, "choices are scored behind text alone; send text messages")
        body: dict[str, Any] = {"messages": messages_json(prompt)}
        if request.sampling.chat_template_kwargs:
            body["chat_template_kwargs"] = dict(request.sampling.chat_template_kwargs)
        ids = _id_list((await self._ask("/tokenize", body, deadline)).get("tokens"))
        self._facts.files.check_ids(ids)
        return ids

    async def _reply_ids(self, choices: Sequence[str], deadline: Deadline) -> list[tuple[int, ...]]:
        if not all(choices) or len(set(choices)) != len(choices) or not choices:
            detail = f"choices must be different, non-empty texts (got {list(choices)!r:.200})"
            raise GenerationError(FailureKind.BAD_REQUEST, detail)
        if missing := [choice for choice in choices if choice not in self._ids]:
            # Read off behind a line break: some tokenizers put a space before the first word of a text.
            texts = ["\n", *("\n" + choice for choice in missing), *missing]
            body = {"prompt": texts, "add_special_tokens": False}
            tokens = (await self._ask("/tokenize", body, deadline)).get("tokens")
            if not isinstance(tokens, list) or len(tokens) != len(texts):
                raise malformed(f"/tokenize of {len(texts)} texts gave {tokens!r:.120}")
            lead, *rest = [_id_list(ids) for ids in tokens]
            if len(self._ids) > _KEPT:
                self._ids.clear()
            for choice, whole, alone in zip(missing, rest[: len(missing)], rest[len(missing) :], strict=True):
                ids = whole[len(lead) :] if whole[: len(lead)] == lead else alone
                self._facts.files.check_ids(ids)
                self._ids[choice] = ids
        return [self._ids[choice] for choice in choices]

    async def _firsts(
        self, prompt: tuple[int, ...], tokens: list[int], deadline: Deadline
    ) -> tuple[dict[str, Any], dict[int, float]]:
        """The meta information of the prompt's pass, and the log-prob of each token as the next one."""
        body = {
            "input_ids": list(prompt),
            "sampling_params": _PLAIN | {"max_new_tokens": 0},
            "return_logprob": True,
            "token_ids_logprob": tokens,
        }
        meta: dict[str, Any] = outputs(await self._ask("/generate", body, deadline), 1)[0]["meta_info"]
        places = meta.get("output_token_ids_logprobs")
        if not isinstance(places, list) or not places or not isinstance(places[0], list):
            raise malformed(f"the log-probs of {tokens} were asked for, the reply has {places!r:.120}")
        found = {token: logprob for logprob, token, _ in map(numbers, cast("list[Any]", places[0]))}
        if missing := set(tokens) - found.keys():
            raise malformed(f"the reply lacks the log-probs of tokens {sorted(missing)}")
        return meta, found

    async def _rests(
        self, prompt: tuple[int, ...], replies: Sequence[tuple[int, ...]], deadline: Deadline
    ) -> dict[tuple[int, ...], tuple[float, ...]]:
        """For each reply the log-probs of its tokens but the first, side by side; one failure ends them all."""
        tasks = [asyncio.create_task(self._rest(prompt, reply, deadline)) for reply in replies]
        try:
            return dict(zip(replies, await asyncio.gather(*tasks), strict=True))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _rest(self, prompt: tuple[int, ...], reply: tuple[int, ...], deadline: Deadline) -> tuple[float, ...]:
        body = {
            "input_ids": [*prompt, *reply],
            "sampling_params": _PLAIN | {"max_new_tokens": 1},
            "return_logprob": True,
            # The first entry of what is returned has no log-prob, so begin at the reply's first token.
            "logprob_start_len": len(prompt),
        }
        meta: dict[str, Any] = outputs(await self._ask("/generate", body, deadline), 1)[0]["meta_info"]
        entries = meta.get("input_token_logprobs")
        if not isinstance(entries, list) or len(entries) != len(reply):
            raise malformed(f"the log-probs of {len(reply)} tokens were asked for, the reply has {entries!r:.120}")
        places = [numbers(entry) for entry in cast("list[Any]", entries)]
        if tuple(token for _, token, _ in places[1:]) != reply[1:]:
            raise malformed(f"the log-probs are of other tokens than the reply's {list(reply)}")
        return tuple(logprob for logprob, _, _ in places[1:])


def _id_list(ids: Any) -> tuple[int, ...]:
    if not isinstance(ids, list) or not all(type(one) is int for one in cast("list[Any]", ids)):
        raise malformed(f"token ids are {ids!r:.80}")
    return tuple(cast("list[int]", ids))
