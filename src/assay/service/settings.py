"""How the service listens, and its limits."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import Field, SecretStr, field_validator, model_validator

from assay.core.config import Config

MIB = 1 << 20


class ServiceSettings(Config):
    """Settings of one service process."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """0 takes any free port."""

    prefix: str = "/genrm"
    """What every route starts with."""

    api_key: SecretStr | None = None
    """Bearer token that every request but ``/health`` must carry; required beyond the loopback interface."""

    max_body_bytes: Annotated[int, Field(ge=1024)] = 16 * MIB
    max_in_flight: Annotated[int, Field(ge=1)] = 256
    """Requests that one instance works on at a time."""

    max_queue: Annotated[int, Field(ge=0)] = 4096
    """Requests that wait for one instance; more are refused with 429."""

    deadline_s: Annotated[float, Field(gt=0)] = 600.0
    """Deadline of a request that does not name one."""

    drain_s: Annotated[int, Field(ge=0)] = 30
    """Seconds that running requests get to finish in when the service stops."""

    health_timeout_s: Annotated[float, Field(gt=0)] = 1.0
    """An engine that has not said how it is by then is unhealthy."""

    @field_validator("prefix")
    @classmethod
    def _one_slash(cls, prefix: str) -> str:
        trimmed = prefix.strip("/")
        return f"/{trimmed}" if trimmed else ""

    @model_validator(mode="after")
    def _guarded(self) -> ServiceSettings:
        if self.api_key is not None and not self.api_key.get_secret_value().isascii():
            raise ValueError("api_key must be plain ASCII: it travels in a header")
        if self.api_key is not None and not self.api_key.get_secret_value().strip():
            raise ValueError("api_key is empty; name one or leave it out")
        if self.api_key is None and not is_loopback(self.host):
            raise ValueError(
                f"host={self.host!r} can be reached from other machines: set an API key "
                f"(--api-key or ASSAY_API_KEY), or bind 127.0.0.1"
            )
        return self


def is_loopback(host: str) -> bool:
    """Whether ``host`` can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
