"""Settings of the http_reward engine."""

from __future__ import annotations

from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from assay.core.config import Config

from ..openai.config import OpenAIConfig


class HttpRewardConfig(Config):
    """A reward model with one logit, behind a server that somebody else runs."""

    kind: Literal["sglang", "vllm"]
    """Both answer ``POST /classify``. ``sglang``: started with ``--is-embedding``; prompts are rendered and tokenized
    here. ``vllm``: 0.13 or newer, started with ``--runner pooling``; it renders prompts itself.

    SGLang (0.5.17) gives the head of Qwen2 and Qwen3 models a bias. Where the checkpoint holds no ``score.bias``, it is
    drawn anew at each start: all logits of that server are off by one small constant, which sorts votes no differently.
    """
    base_url: str
    """The server's root, e.g. ``http://127.0.0.1:30000``; a ``/v1`` behind it is taken off."""
    model: str | None = None
    """Name of the model; None takes the one that the server serves, if it is the only one."""
    api_key: SecretStr | None = None
    """Bearer token. Better in the environment: see ``api_key_env``."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the token."""
    tokenizer: str | None = None
    """``sglang``: folder or hub name of the model's tokenizer, with its chat template; None: as the server names it."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Variables of the model's chat template."""
    wait_s: float = Field(default=0, ge=0)
    """How long ``start`` waits for a server that does not answer yet."""
    connect_timeout_s: float = Field(default=10, gt=0)
    attempt_timeout_s: float | None = Field(default=None, gt=0)
    """Most seconds for one attempt; None: as long as the deadline."""
    max_concurrency: int = Field(default=64, ge=1)
    """Most requests on the wire at the same time; the server batches them."""
    max_retries: int = Field(default=4, ge=0)
    """Further attempts after a failure that may pass, all inside the request's one deadline."""
    backoff_s: float = Field(default=0.5, gt=0)
    """Pause before the first retry; doubled each time, with jitter, up to ``max_backoff_s``."""
    max_backoff_s: float = Field(default=30, gt=0)
    context_len: int | None = Field(default=None, ge=1)
    """Most tokens of a prompt; None asks the server."""
    weight_version: str | None = None
    """Names the weights in records and cache keys; None: as the server says, if it does."""
    check_activation: bool = True
    """``vllm``: refuse, at the start, a server that squeezes the logit into 0..1 all the same. Set it to false for a
    model whose own logits lie there."""

    @field_validator("base_url")
    @classmethod
    def _root(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or url.rstrip("/").endswith("/classify"):
            raise ValueError("needs the form http(s)://host:port, without a route behind it")
        if parts.username or parts.query:
            raise ValueError("takes neither a user nor a query; a key belongs into api_key_env")
        return url.rstrip("/").removesuffix("/v1").rstrip("/")

    @model_validator(mode="after")
    def _fits_the_kind(self) -> Self:
        if self.api_key is not None and self.api_key_env is not None:
            raise ValueError("api_key and api_key_env are two ways to say the same; give one")
        if self.kind == "vllm" and self.tokenizer is not None:
            raise ValueError("vLLM renders and tokenizes prompts itself; leave tokenizer out")
        return self

    def connection(self) -> OpenAIConfig:
        """The same server, as the HTTP side takes it."""
        return OpenAIConfig(
            base_url=self.base_url,
            model=self.model,
            api_key=self.api_key,
            api_key_env=self.api_key_env,
            connect_timeout_s=self.connect_timeout_s,
            attempt_timeout_s=self.attempt_timeout_s,
            max_concurrency=self.max_concurrency,
            max_retries=self.max_retries,
            backoff_s=self.backoff_s,
            max_backoff_s=self.max_backoff_s,
        )
