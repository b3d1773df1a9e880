from __future__ import annotations

import pytest

from assay.core.types import FailureKind
from assay.wire.errors import STATUS, error_body, read_error, to_kind


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_a_kind_finds_its_way_back(kind: FailureKind, status: int) -> None:
    assert to_kind(status, str(kind)) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, FailureKind.BAD_REQUEST),
        (422, FailureKind.BAD_REQUEST),
        (429, FailureKind.OVERLOADED),
        (500, FailureKind.ENGINE_ERROR),
        (503, FailureKind.ASLEEP),
        (504, FailureKind.TIMEOUT),
    ],
)
def test_an_error_of_a_proxy_goes_by_its_status(status: int, kind: FailureKind) -> None:
    assert to_kind(status, "error") is kind


def test_an_error_body_has_openais_shape() -> None:
    assert error_body("not_found", "no such thing") == {"error": {"type": "not_found", "message": "no such thing"}}


def test_a_body_that_is_not_ours_is_quoted() -> None:
    error = read_error(502, b"<html>Bad Gateway</html>")
    assert error.message == "HTTP 502: <html>Bad Gateway</html>"
    assert read_error(500, b"").message == "HTTP 500: no body"
    assert read_error(404, b'{"detail": "x"}').type == "not_found"
