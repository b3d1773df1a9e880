"""``/endpoints``: where a service can be reached without the proxy before it."""

from __future__ import annotations

from .body import Reply


class EndpointsReply(Reply):
    """Base URLs, prefix included, of servers that answer every route exactly as the service does."""

    endpoints: list[str]
    """Empty where there is no way around the proxy."""
