"""Settings of the openai engine."""

from __future__ import annotations

import os
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from assay.core.config import Config
from assay.core.errors import InputError

OWN_KEYS = frozenset({"model", "messages", "prompt", "n", "stream", "logprobs", "top_logprobs"})
"""Keys of the body that the engine decides; ``extra_body`` cannot."""


class OpenAIConfig(Config):
    """A chat completions endpoint over HTTP."""

    kind: Literal["openai"] = "openai"
    base_url: str
    """Up to and with ``/v1``, e.g. ``http://127.0.0.1:30000/v1``."""
    model: str | None = None
    """Name of the model; None takes the one that the server serves, if it is the only one."""
    api_key: SecretStr | None = None
    """Bearer token. Better in the environment: see ``api_key_env``."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the token."""
    dialect: Literal["extended", "openai"] = "extended"
    """``extended`` (vLLM, SGLang, Assay) also takes ``top_k``, ``chat_template_kwargs`` and token ids; with ``openai``
    a request that needs them is refused."""
    wait_s: float = Field(default=0, ge=0)
    """How long ``start`` waits for a server that does not answer yet."""
    connect_timeout_s: float = Field(default=10, gt=0)
    attempt_timeout_s: float | None = Field(default=None, gt=0)
    """Most seconds for one attempt, so that a stuck replica leaves time for another; None: as long as the deadline."""
    max_concurrency: int = Field(default=64, ge=1)
    """Most requests on the wire at the same time."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Prompt and reply together. A request is counted with its longest possible reply until the reply is there."""
    max_retries: int = Field(default=4, ge=0)
    """Further attempts after a failure that may pass, all inside the request's one deadline."""
    backoff_s: float = Field(default=0.5, gt=0)
    """Pause before the first retry; doubled each time, with jitter, up to ``max_backoff_s``."""
    max_backoff_s: float = Field(default=30, gt=0)
    supports_n: bool = True
    """False sends n requests of one sample each."""
    supports_seed: bool = True
    supports_logprobs: bool = True
    supports_images: bool = False
    supports_json_schema: bool = True
    """Whether the server applies OpenAI's ``response_format`` with a schema."""
    regex_field: Literal["regex", "guided_regex", "structured_outputs"] | None = None
    """Where the server takes a regular expression for the reply: ``regex`` (SGLang), ``structured_outputs`` (vLLM) or
    ``guided_regex`` (older vLLM). None: requests with one are refused."""
    context_len: int | None = Field(default=None, ge=1)
    """Most tokens of prompt and reply; None asks the server."""
    weight_version: str = ""
    """Names the weights in records and cache keys; change it when the server's weights change under one name."""
    batch_invariant: bool = False
    """Set it only for a server that runs in a deterministic mode."""
    parameters: int | None = Field(default=None, ge=1)
    """Active parameters of the model, for the account of cost; a server does not say them."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further keys of every request body, e.g. ``{"return_token_ids": true}`` for vLLM."""

    @field_validator("base_url")
    @classmethod
    def _http(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or url.endswith("/chat/completions"):
            raise ValueError("needs the form http(s)://host:port/v1, without a route behind it")
        if parts.username or parts.query:
            raise ValueError("takes neither a user nor a query; a key belongs into api_key_env")
        return url.rstrip("/")

    @field_validator("extra_body")
    @classmethod
    def _no_own_keys(cls, body: dict[str, Any]) -> dict[str, Any]:
        if taken := OWN_KEYS & body.keys():
            raise ValueError(f"{sorted(taken)} are set by the engine; leave them out")
        return body

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.api_key is not None and self.api_key_env is not None:
            raise ValueError("api_key and api_key_env are two ways to say the same; give one")
        return self

    def secret(self) -> str | None:
        """The bearer token, if there is one. Raises InputError when the environment variable is not set."""
        if self.api_key_env is not None:
            if not os.environ.get(self.api_key_env):
                raise InputError(f"api_key_env names {self.api_key_env!r}, which is not set in the environment")
            return os.environ[self.api_key_env]
        return None if self.api_key is None else self.api_key.get_secret_value()
