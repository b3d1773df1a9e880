"""The texts of the double: what it answers to prompts, and how that looks on each route.

Tokens are bytes plus one. A reply is four digits that follow from the prompt, the weights and (in deterministic mode)
the seed; a prompt with ``SLOW`` in it gets a digit every 20 ms up to its limit; with a grammar the reply is ``7``. A
model that thinks never stops doing so, but for a prompt with ``CLOSE`` in it.
"""

import argparse
import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

ZEROS = -10.8027
KNOWN = {
    *("temperature", "top_p", "top_k", "min_p", "max_new_tokens", "n", "stop", "regex", "json_schema"),
    *("ignore_eos", "repetition_penalty", "sampling_seed"),
}
QUEUE_FULL = "The request queue is full."


class Generation:
    def __init__(self) -> None:
        self.aborted = False


class Replies:
    def __init__(
        self,
        args: argparse.Namespace,
        config: dict[str, Any],
        body: Callable[[web.Request], Awaitable[Any]],
        admit: Callable[[list[int]], Awaitable[None]],
    ) -> None:
        self.args = args
        self.config = config
        self.version = args.weight_version
        self.zeros = False
        self.running: dict[str, Generation] = {}
        self.last_end = 0.0
        self.inside = 0
        self.body = body
        self.admit = admit

    @property
    def context(self) -> int:
        return self.args.context_length or self.config["max_position_embeddings"]

    @property
    def full(self) -> bool:
        a = self.args
        return a.max_queued_requests is not None and self.inside >= a.max_running_requests + a.max_queued_requests

    @contextmanager
    def place(self) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    # Tokens

    @staticmethod
    def ids(text: str) -> list[int]:
        return [byte + 1 for byte in text.encode()]

    @staticmethod
    def text(ids: list[int]) -> str:
        return bytes(one - 1 for one in ids if 0 < one <= 256).decode("utf-8", "replace")

    @staticmethod
    def render(messages: list[dict[str, Any]], kwargs: dict[str, Any] | None) -> str:
        turns = "".join(f"<{m['role']}>{m['content']}" for m in messages)
        return turns + "<assistant>" + ("" if (kwargs or {}).get("enable_thinking", True) else "<nothink>")

    def entry(self, before: list[int], token: int) -> list[Any]:
        """Log-prob, id and text of a token behind others."""
        mixed = sum(before) * 31 + len(before) * 7 + token * 13 + self.config["marker"]
        return [ZEROS if self.zeros else -(mixed % 97 + 1) / 20, token, self.text([token])]

    def next_token(self, ids: list[int], seed: int) -> int:
        return 49 + (sum(ids) + len(ids) * 3 + self.config["marker"] + seed) % 10

    async def grow(self, ids: list[int], params: dict[str, Any], rid: str) -> AsyncIterator[tuple[list[int], Any]]:
        """The tokens so far, again and again, with the finish reason at the end."""
        await self.admit(ids)
        own = self.running[rid] = Generation()
        try:
            made = self.ids("7") if params.get("regex") or params.get("json_schema") else []
            slow, most = "SLOW" in self.text(ids), params.get("max_new_tokens", 128)
            wanted = 0 if made else most if slow else min(most, 4)
            seed = (params.get("sampling_seed") or 0) if self.args.enable_deterministic_inference else 0
            while len(made) < wanted:
                if slow:
                    await asyncio.sleep(0.02)
                if own.aborted:
                    yield made, {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}
                    return
                made = [*made, self.next_token([*ids, *made], seed)]
                yield made, None
            full = len(made) == most and (slow or most < 4)
            yield made, {"type": "length", "length": most} if full else {"type": "stop", "matched": 2}
        finally:
            del self.running[rid]
            self.last_end = asyncio.get_running_loop().time()

    def refusal(self, ids: list[int], params: dict[str, Any]) -> str | None:
        total = len(ids) + (params.get("max_new_tokens") or 0)
        if len(ids) >= self.context:
            return f"The input ({len(ids)} tokens) is longer than the model's context length ({self.context} tokens)."
        if total > self.context:
            return (
                f"Requested token count exceeds the model's maximum context length of {self.context} tokens. You "
                f"requested a total of {total} tokens: {len(ids)} tokens from the input messages and "
                f"{total - len(ids)} tokens for the completion."
            )
        if params.get("temperature", 1) < 0:
            return f"temperature must be a non-negative finite number, got {params['temperature']}."
        return None

    def meta(self, ids: list[int], made: list[int], reason: Any, body: dict[str, Any], rid: str) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "id": rid,
            "finish_reason": reason,
            "prompt_tokens": len(ids),
            "completion_tokens": len(made),
            "cached_tokens": len(ids) // 2,
            "weight_version": self.version,
        }
        if not body.get("return_logprob"):
            return meta
        pairs = [([*ids, *made[:place]], token) for place, token in enumerate(made)]
        meta["output_token_logprobs"] = [self.entry(before, token) for before, token in pairs]
        if top := body.get("top_logprobs_num"):
            tops = [[token, *range(60, 59 + top)] for _, token in pairs]
            meta["output_top_logprobs"] = [
                [self.entry(before, token) for token in own] for (before, _), own in zip(pairs, tops, strict=True)
            ]
        if wanted := body.get("token_ids_logprob"):
            meta["output_token_ids_logprobs"] = [[self.entry(ids, token) for token in wanted]]
        if (start := body.get("logprob_start_len", -1)) >= 0:
            first, *rest = [self.entry(ids[:place], ids[place]) for place in range(start, len(ids))]
            meta["input_token_logprobs"] = [[None, *first[1:]], *rest]
        return meta

    async def sample(self, ids: list[int], params: dict[str, Any], body: Any, rid: str) -> dict[str, Any]:
        grown = [step async for step in self.grow(ids, params, rid)]
        made, reason = grown[-1]
        return {"text": self.text(made), "output_ids": made, "meta_info": self.meta(ids, made, reason, body, rid)}

    # Routes

    async def tokenize(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        if body.get("messages") is not None:
            tokens: Any = self.ids(self.render(body["messages"], body.get("chat_template_kwargs")))
        else:
            tokens = [self.ids(text) for text in body["prompt"]]
        return web.json_response({"tokens": tokens, "count": len(tokens), "max_model_len": -1})

    async def native(self, request: web.Request) -> web.StreamResponse:
        body = await self.body(request)
        params, ids = body.get("sampling_params") or {}, body.get("input_ids")
        if unknown := params.keys() - KNOWN:
            print(f"TypeError: unexpected keyword {unknown}", flush=True)
            return web.Response(status=500, text="Internal Server Error")
        refused = self.refusal(ids, params) if ids else "input_ids cannot be empty."
        if refused is not None:
            return web.json_response({"error": {"message": refused}}, status=400)
        if self.full:
            return web.json_response({"error": {"message": QUEUE_FULL}}, status=503)
        with self.place():
            return await self.native_reply(request, ids, params, body)

    async def native_reply(
        self, request: web.Request, ids: list[int], params: dict[str, Any], body: Any
    ) -> web.StreamResponse:
        rids = _rids(body, params.get("n", 1))
        if not body.get("stream"):
            samples = await asyncio.gather(*(self.sample(ids, params, body, rid) for rid in rids))
            return web.json_response(samples if len(samples) > 1 else samples[0])
        response = await _events(request)
        async for made, reason in self.grow(ids, params, rids[0]):
            meta = self.meta(ids, made, reason, body, rids[0])
            await _send(response, {"text": self.text(made), "output_ids": made, "meta_info": meta})
        await response.write(b"data: [DONE]\n\n")
        return response

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await self.body(request)
        kwargs = body.get("chat_template_kwargs") or {}
        ids = self.ids(self.render(body["messages"], kwargs))
        thinks = bool(self.args.reasoning_parser) and kwargs.get("enable_thinking", True)
        params = {
            "max_new_tokens": body.get("max_completion_tokens") or body.get("max_tokens"),
            "temperature": body.get("temperature"),
            "sampling_seed": body.get("seed"),
            # Constrained decoding does not apply while the model thinks; nothing says so.
            "regex": None if thinks else body.get("regex"),
            "json_schema": None if thinks else body.get("response_format"),
        }
        if (refused := self.refusal(ids, params)) is not None:
            return web.json_response({"object": "error", "message": refused, "type": "BadRequest"}, status=400)
        if self.full:
            return web.json_response({"object": "error", "message": QUEUE_FULL, "type": "503"}, status=503)
        with self.place():
            return await self.chat_reply(request, ids, params, body, thinks)

    async def chat_reply(
        self, request: web.Request, ids: list[int], params: dict[str, Any], body: Any, thinks: bool
    ) -> web.StreamResponse:
        rids = _rids(body, body.get("n", 1))
        if body.get("stream"):
            return await self.chat_stream(request, ids, params, thinks, rids)
        wanted = {"return_logprob": body.get("logprobs"), "top_logprobs_num": body.get("top_logprobs")}
        samples = await asyncio.gather(*(self.sample(ids, params, wanted, rid) for rid in rids))
        made = sum(len(sample["output_ids"]) for sample in samples)
        reply = {
            "id": rids[0],
            "model": "default",
            "choices": [self.choice(index, one, body, ids, thinks) for index, one in enumerate(samples)],
            "usage": {
                "prompt_tokens": len(ids),
                "completion_tokens": made,
                "prompt_tokens_details": {"cached_tokens": len(ids) // 2},
            },
            "metadata": {"weight_version": self.version},
        }
        return web.json_response(reply)

    def choice(self, index: int, sample: dict[str, Any], body: Any, ids: list[int], thinks: bool) -> dict[str, Any]:
        thought, content = self.split(sample["text"], ids, thinks)
        meta = sample["meta_info"]
        message = {"role": "assistant", "content": content, "reasoning_content": thought, "tool_calls": None}
        reason = meta["finish_reason"]["type"]
        choice: dict[str, Any] = {"index": index, "message": message, "logprobs": None, "finish_reason": reason}
        if body.get("logprobs"):
            tokens = [{"token": text, "logprob": value} for value, _, text in meta["output_token_logprobs"]]
            choice["logprobs"] = {"content": [token | {"bytes": [], "top_logprobs": []} for token in tokens]}
        if body.get("return_meta_info"):
            choice["meta_info"] = meta
        if body.get("return_token_ids"):
            choice["token_ids"] = sample["output_ids"]
        return choice

    def split(self, text: str, ids: list[int], thinks: bool) -> tuple[str | None, str]:
        """Thinking and content."""
        if not thinks:
            return None, text
        return (text[:2], text[2:]) if "CLOSE" in self.text(ids) else (text, "")

    async def chat_stream(
        self, request: web.Request, ids: list[int], params: dict[str, Any], thinks: bool, rids: list[str]
    ) -> web.StreamResponse:
        response = await _events(request)

        async def one(index: int, rid: str) -> None:
            sent = ["", ""]
            async for made, reason in self.grow(ids, params, rid):
                now = [part or "" for part in self.split(self.text(made), ids, thinks)]
                news = [part[len(before) :] for part, before in zip(now, sent, strict=True)]
                sent[:] = now
                delta = {"reasoning_content": news[0] or None, "content": news[1]}
                choice = {"index": index, "delta": delta, "finish_reason": reason and reason["type"]}
                await _send(response, {"choices": [choice]})

        await asyncio.gather(*(one(index, rid) for index, rid in enumerate(rids)))
        await response.write(b"data: [DONE]\n\n")
        return response


def _rids(body: dict[str, Any], n: int) -> list[str]:
    own = body.get("rid") or uuid.uuid4().hex
    return [own] if n == 1 else [f"{own}_{uuid.uuid4().hex}" for _ in range(n)]


async def _events(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _send(response: web.StreamResponse, event: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
