"""What a client raises when the service did not answer."""

from __future__ import annotations

from assay.core.errors import GenerationError
from assay.wire.errors import to_kind


class GenRMError(GenerationError):
    """The service refused, failed or could not be reached.

    ``status``: the HTTP status, None where there was no reply. ``type`` and ``message``: those of the error body.
    ``kind`` (from ``GenerationError``): the failure that it stands for, so that a caller needs one ``except``.
    """

    def __init__(self, status: int | None, type: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(to_kind(status or 502, type), message, retry_after=retry_after)
        self.status = status
        self.type = type
        self.message = message

    def __str__(self) -> str:
        return f"{'no reply' if self.status is None else f'HTTP {self.status}'}, {self.type}: {self.message}"

    def __reduce__(self) -> tuple[type[GenRMError], tuple[int | None, str, str, float | None]]:
        return GenRMError, (self.status, self.type, self.message, self.retry_after)
