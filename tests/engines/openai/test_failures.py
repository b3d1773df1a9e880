import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.types import FailureKind
from assay.engines.openai.failures import read_refusal

K = FailureKind


def error(message: str = "", **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


VLLM = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
SGLANG = "The input (9000 tokens) is longer than the model's context length (8192 tokens)."
LLAMA = "the request exceeds the available context size (4096 tokens), try increasing it"


@pytest.mark.parametrize(
    ("status", "body", "kind", "again"),
    [
        (429, error("slow down"), K.OVERLOADED, True),
        (429, error("You exceeded your current quota", code="insufficient_quota"), K.OVERLOADED, False),
        (500, "<html>Internal Server Error</html>", K.ENGINE_ERROR, True),
        (502, "", K.ENGINE_ERROR, True),
        (408, "", K.ENGINE_ERROR, True),
        (409, "", K.ENGINE_ERROR, True),
        (503, error("judge is asleep", type="asleep"), K.ASLEEP, True),
        (504, error("too slow", type="timeout"), K.TIMEOUT, False),
        (400, error(VLLM), K.CONTEXT_OVERFLOW, False),
        (400, error("too much", code="context_length_exceeded"), K.CONTEXT_OVERFLOW, False),
        (400, json.dumps({"object": "error", "message": SGLANG, "type": "BadRequestError"}), K.CONTEXT_OVERFLOW, False),
        (400, error(LLAMA, type="exceed_context_size_error"), K.CONTEXT_OVERFLOW, False),
        (400, error("no", code="content_filter"), K.REFUSED, False),
        (403, error("input was flagged by moderation"), K.REFUSED, False),
        (400, error("temperature must be at least 0"), K.BAD_REQUEST, False),
        (401, error("Incorrect API key"), K.BAD_REQUEST, False),
        (404, error("The model `x` does not exist"), K.BAD_REQUEST, False),
        (422, json.dumps({"detail": [{"msg": "field required"}]}), K.BAD_REQUEST, False),
        (307, "", K.BAD_REQUEST, False),
    ],
)
def test_statuses_and_bodies(status: int, body: str, kind: FailureKind, again: bool) -> None:
    refusal = read_refusal(status, body, "http://host/v1/chat/completions", None)
    assert (refusal.error.kind, refusal.again) == (kind, again)
    assert f"HTTP {status} from http://host/v1/chat/completions" in refusal.error.detail


def test_the_message_is_quoted_with_a_hint() -> None:
    detail = read_refusal(401, error("Incorrect API key"), "http://host/v1", None).error.detail
    assert "Incorrect API key" in detail
    assert "api_key_env" in detail
    assert "base_url" in read_refusal(404, "", "http://host", None).error.detail


@settings(deadline=None)
@given(st.integers(300, 599), st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_reply_is_a_failure_with_a_kind(status: int, body: str) -> None:
    assert read_refusal(status, body, "http://host/v1", 2.0).error.retry_after == 2.0
