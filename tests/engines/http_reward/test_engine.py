"""The engine against real servers on loopback sockets, which answer as SGLang and vLLM document it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.core.types import ChatPrompt, FailureKind, Message, TokenPrompt
from assay.engines.base import Reward
from assay.engines.http_reward.config import HttpRewardConfig
from assay.engines.http_reward.engine import HttpRewardEngine

PROMPT = ChatPrompt(messages=(Message(role="user", content="6 times 7?"), Message(role="assistant", content="42")))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def logit_of(text: str) -> float:
    return len(text) / 7 - 3


class Server:
    """``script``: what to answer after the start, one entry a call (the last one again and again); None: as a model."""

    def __init__(self, kind: str, *script: Any, **facts: Any) -> None:
        self.kind = kind
        self.script = list(script)
        self.facts = {"models": ["rm"], "model_info": None, "activation": True, "labels": 1, "key": None} | facts
        self.bodies: list[dict[str, Any]] = []
        self.started = False
        self.calls = 0

    async def classify(self, request: web.Request) -> web.StreamResponse:
        if self.facts["key"] and request.headers.get("Authorization") != f"Bearer {self.facts['key']}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        body = await request.json()
        self.bodies.append(body)
        if self.started and self.script:
            self.calls += 1
            step = self.script[min(self.calls, len(self.script)) - 1]
            if callable(step):
                return await step(request)
            if step is not None:
                return web.json_response(step)
        return web.json_response(self.answer(body))

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.kind == "sglang":
            logit = logit_of(str(body["input_ids"]))
            return {"embedding": [logit] * self.facts["labels"], "meta_info": {"prompt_tokens": 12}}
        shown = "".join(m["content"] for m in body["messages"]) if "messages" in body else str(body["input"])
        logit = logit_of(shown)
        if self.facts["activation"] == "always" or body.get("use_activation"):
            logit = 1 / (1 + math.exp(-logit))
        row = {"index": 0, "label": "LABEL_0", "probs": [logit] * self.facts["labels"], "num_classes": 1}
        return {"object": "list", "data": [row], "usage": {"prompt_tokens": 12, "total_tokens": 12}}

    async def list_models(self, request: web.Request) -> web.Response:
        if self.facts["key"] and request.headers.get("Authorization") != f"Bearer {self.facts['key']}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        return web.json_response({"data": [{"id": name, "max_model_len": 100} for name in self.facts["models"]]})

    async def model_info(self, _: web.Request) -> web.Response:
        return web.json_response(self.facts["model_info"])


def run(server: Server, body: Callable[[HttpRewardEngine], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        app = web.Application()
        app.router.add_get("/v1/models", server.list_models)
        app.router.add_post("/classify", server.classify)
        if server.facts["model_info"] is not None:
            app.router.add_get("/model_info", server.model_info)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        made = {"kind": server.kind, "base_url": url, "backoff_s": 0.01} | options
        engine = HttpRewardEngine(HttpRewardConfig.model_validate(made))
        try:
            await engine.start()
            server.started = True
            server.bodies.clear()
            await body(engine)
        finally:
            await engine.close()
            await engine.close()
            await runner.cleanup()

    asyncio.run(main())


async def nothing(_: HttpRewardEngine) -> None:
    return None


def refused(server: Server, **options: Any) -> AssayError:
    with pytest.raises(AssayError) as caught:
        run(server, nothing, **options)
    return caught.value


async def failure(engine: HttpRewardEngine, prompt: Any = PROMPT, seconds: float = 5) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        await engine.reward(prompt, Deadline.after(seconds))
    return caught.value


def status(code: int, body: Any, **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=body if isinstance(body, str) else json.dumps(body), headers=named)

    return handler


async def hang(_: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


def test_vllm_gets_messages_and_gives_the_logit_itself() -> None:
    server = Server("vllm")

    async def body(engine: HttpRewardEngine) -> None:
        assert await engine.reward(PROMPT, Deadline.after(5)) == Reward(
            logit=logit_of("6 times 7?42"), prompt_tokens=12
        )
        [sent] = server.bodies
        assert sent["model"] == "rm"
        assert sent["use_activation"] is False
        assert sent["add_generation_prompt"] is False
        assert sent["messages"][1] == {"role": "assistant", "content": "42"}
        await engine.reward(TokenPrompt(token_ids=(1, 2)), Deadline.after(5))
        assert server.bodies[1]["input"] == [[1, 2]]
        assert engine.info.model == "rm"
        assert engine.info.context_len == 100
        assert (await engine.health()).state == "awake"

    run(server, body)


def test_a_server_that_always_squeezes_is_refused() -> None:
    error = refused(Server("vllm", activation="always"))
    assert isinstance(error, InputError)
    assert "squeezes the logits" in str(error)
    run(Server("vllm", activation="always"), nothing, check_activation=False)


@pytest.mark.parametrize("labels", [2, 768])
def test_a_vector_is_refused_at_the_start(labels: int) -> None:
    error = refused(Server("vllm", labels=labels))
    assert isinstance(error, InputError)
    assert f"{labels} numbers instead of one logit" in str(error)


def test_a_vector_later_on_is_a_failure() -> None:
    async def body(engine: HttpRewardEngine) -> None:
        assert "2 numbers" in (await failure(engine)).detail

    run(Server("vllm", {"data": [{"probs": [0.5, 0.5]}]}), body)


def test_what_passes_is_tried_again_and_what_does_not_is_told() -> None:
    long = {"error": {"message": "This model's maximum context length is 100 tokens. ...", "code": 400}}
    server = Server(
        "vllm",
        status(503, "busy"),
        status(429, "slow down", Retry_After="0.01"),
        None,
        status(400, long),
        status(400, {"error": {"message": "messages: wrong"}}),
    )

    async def body(engine: HttpRewardEngine) -> None:
        assert (await engine.reward(PROMPT, Deadline.after(5))).prompt_tokens == 12
        assert (await failure(engine)).kind is FailureKind.CONTEXT_OVERFLOW
        assert (await failure(engine)).kind is FailureKind.BAD_REQUEST
        assert server.calls == 5

    run(server, body)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (hang, FailureKind.TIMEOUT),
        (status(500, "broken"), FailureKind.ENGINE_ERROR),
        (status(200, "<html>"), FailureKind.ENGINE_ERROR),
        (status(200, '{"data": [{"probs": [NaN]}]}'), FailureKind.ENGINE_ERROR),
        (status(200, '{"data": [{"probs": [-Infinity]}]}'), FailureKind.ENGINE_ERROR),
        (status(429, "slow down"), FailureKind.OVERLOADED),
    ],
)
def test_failures_are_typed(step: Handler, kind: FailureKind) -> None:
    async def body(engine: HttpRewardEngine) -> None:
        assert (await failure(engine, seconds=0.3)).kind is kind

    run(Server("vllm", step), body, max_retries=1)


def test_starting_without_a_server_or_key_or_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(**options: Any) -> AssayError:
        config = HttpRewardConfig.model_validate({"kind": "vllm", "base_url": "http://127.0.0.1:9"} | options)
        with pytest.raises(AssayError) as caught:
            asyncio.run(HttpRewardEngine(config).start())
        return caught.value

    assert isinstance(start(), StartError)
    assert "UNSET_KEY" in str(start(api_key_env="UNSET_KEY"))
    assert "is not served" in str(refused(Server("vllm"), model="other"))
    assert "it serves ['a', 'b']" in str(refused(Server("vllm", models=["a", "b"])))
    assert "another API key" in str(refused(Server("vllm", key="right"), api_key="wrong"))
    run(Server("vllm", key="right"), nothing, api_key="right")


def test_a_server_without_the_route_is_told_so() -> None:
    server = Server("vllm")
    server.classify = status(404, {"detail": "Not Found"})  # type: ignore[method-assign]
    error = refused(server)
    assert isinstance(error, StartError)
    assert "no POST /classify" in str(error)


def test_before_the_start_and_after_the_end() -> None:
    async def main() -> None:
        engine = HttpRewardEngine(HttpRewardConfig(kind="vllm", base_url="http://127.0.0.1:9"))
        assert "not running" in (await failure(engine)).detail
        assert not (await engine.health()).healthy

    asyncio.run(main())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of bytes with a chat template and a BOS, as a model's folder holds it."""
    pytest.importorskip("transformers", reason="the embedded extra is not installed")
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    where = tmp_path_factory.mktemp("rm")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken("<|s|>", special=True, normalized=False)])
    made = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|s|>")
    made.chat_template = "{{ bos_token }}{% for m in messages %}{{ m['role'][0] + ':' + m['content'] }}{% endfor %}"
    made.save_pretrained(where)
    (where / "config.json").write_text(json.dumps({"vocab_size": 257, "architectures": ["X"]}))
    return where


def sglang(folder: Path, *script: Any, **facts: Any) -> Server:
    info = {
        "model_path": str(folder),
        "tokenizer_path": str(folder),
        "is_generation": False,
        "weight_version": "v7",
        "architectures": ["Qwen3ForSequenceClassification"],
    }
    return Server("sglang", *script, **{"model_info": info | facts.pop("info", {})} | facts)


def test_sglang_gets_token_ids_with_one_bos(folder: Path) -> None:
    server = sglang(folder)

    async def body(engine: HttpRewardEngine) -> None:
        reward = await engine.reward(PROMPT, Deadline.after(5))
        [sent] = server.bodies
        assert sent["input_ids"][0] == 256
        assert sent["input_ids"].count(256) == 1
        assert len(sent["input_ids"]) == 1 + len("u:6 times 7?a:42")
        assert reward == Reward(logit=logit_of(str(sent["input_ids"])), prompt_tokens=12)
        assert engine.info.weight_version == "v7"

    run(server, body)
    run(server, nothing, tokenizer=str(folder), weight_version="mine")


def test_sglang_is_not_asked_what_it_would_not_survive_or_hold(folder: Path) -> None:
    server = sglang(folder)

    async def body(engine: HttpRewardEngine) -> None:
        assert (await failure(engine, TokenPrompt(token_ids=(1, 257)))).kind is FailureKind.BAD_REQUEST
        long = ChatPrompt(messages=(Message(role="user", content="x" * 99),))
        assert (await failure(engine, long)).kind is FailureKind.CONTEXT_OVERFLOW
        assert server.bodies == []

    run(server, body)


def test_sglang_that_generates_or_hides_its_tokenizer_is_refused(folder: Path) -> None:
    assert "--is-embedding" in str(refused(sglang(folder, info={"is_generation": True})))
    error = refused(sglang(folder, info={"tokenizer_path": None, "model_path": None}))
    assert "set tokenizer" in str(error)
    assert isinstance(refused(sglang(folder), tokenizer=str(folder / "nowhere")), InputError)
    assert "2 numbers" in str(refused(sglang(folder, labels=2)))
