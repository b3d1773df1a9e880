import json

import pytest

from assay.core.types import FailureKind
from assay.engines.sglang.failures import ContextOverflow, read_failure
from assay.engines.sglang.figures import figures, tag_bytes

TOO_LONG = "The input (600 tokens) is longer than the model's context length (512 tokens)."
NO_ROOM = (
    "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9096 "
    "tokens: 5000 tokens from the input messages and 4096 tokens for the completion. Please reduce the number"
)


def native(message: str) -> str:
    return json.dumps({"error": {"message": message}})


def openai(message: str) -> str:
    return json.dumps({"object": "error", "message": message, "type": "BadRequest", "param": None, "code": 400})


@pytest.mark.parametrize(
    ("status", "text", "kind", "said"),
    [
        (503, openai("The request queue is full."), FailureKind.OVERLOADED, "The request queue is full."),
        (400, native("temperature must be"), FailureKind.BAD_REQUEST, "HTTP 400 to /generate: temperature must be"),
        (400, native(TOO_LONG), FailureKind.CONTEXT_OVERFLOW, "the prompt has 600 tokens and the context holds 512"),
        (400, openai(NO_ROOM), FailureKind.CONTEXT_OVERFLOW, "the prompt has 5000 tokens and the context holds 8192"),
        (422, '{"detail": "x"}', FailureKind.BAD_REQUEST, "x"),
        (500, "Internal Server Error", FailureKind.ENGINE_ERROR, "HTTP 500 to /generate: Internal Server Error"),
        (404, '{"detail":"Not Found"}', FailureKind.ENGINE_ERROR, "Not Found"),
        (400, "", FailureKind.BAD_REQUEST, "no body"),
    ],
)
def test_statuses_become_kinds(status: int, text: str, kind: FailureKind, said: str) -> None:
    error = read_failure(status, text, "/generate")
    assert error.kind is kind
    assert said in error.detail


def test_a_prompt_that_fits_says_how_much_room_is_left() -> None:
    fits, too_long = read_failure(400, openai(NO_ROOM), "/x"), read_failure(400, native(TOO_LONG), "/x")
    assert isinstance(fits, ContextOverflow)
    assert fits.room == 8192 - 5000
    assert isinstance(too_long, ContextOverflow)
    assert too_long.room is None


def test_overload_says_when_to_come_back() -> None:
    assert read_failure(503, "", "/x").retry_after == 1.0


def test_loads_are_summed_over_the_ranks() -> None:
    memory = {"weight_gb": 1.5, "kv_cache_gb": 4}
    loads = [
        {"num_running_reqs": 2, "cache_hit_rate": 0.5, "memory": memory},
        {
            "num_running_reqs": 3,
            "cache_hit_rate": 1.0,
            "memory": memory | {"kv_cache_gb": 5},
            "max_total_num_tokens": 7,
        },
    ]
    assert figures({"loads": loads}) == {"running": 5, "token_capacity": 7, "cache_hit_rate": 0.75}
    assert tag_bytes({"loads": loads}) == {"weights": 3 << 29, "kv_cache": 5 << 30}
    for told in (None, {}, {"loads": None}, {"loads": [3, {"memory": None}]}):
        assert figures(told) == {}
        assert tag_bytes(told) == {}
