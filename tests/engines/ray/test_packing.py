"""Every letter comes out of JSON as it went in."""

from __future__ import annotations

import json

import pytest

from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request, SamplingParams, TokenPrompt
from assay.engines.base import Delta, EngineHealth, EngineInfo
from assay.engines.pool.report import PoolReport, Waiter
from assay.engines.ray.letters import Answer, Ask, Gone, Heard, Hello, Leave, News, Order, Piece, Refusal
from assay.engines.ray.packing import pack, unpack

CHAT = ChatPrompt(messages=(Message(role="user", content="是 4 吗?"), Message(role="assistant", content="yes")))
REQUEST = Request(id="a", prompt=CHAT, sampling=SamplingParams(stop=("\n",), seed=3), n=2, choices=("0", "1"))
COMPLETION = Completion(request_id="a", text="x", token_ids=(1, 2), logprobs=(-0.5, float("-inf")), mass=0.9)
WAITER = Waiter(request_id="r", replica=None, waited_s=1.5, tokens=30, attempts=2)
REPORT = PoolReport(counters={"deaths": 1, "sleep_s": 0.5}, waiting=(WAITER, WAITER))
INFO = EngineInfo(model="m", weight_version="3", capabilities=frozenset({"chat", "tokens"}), num_gpus=2)


@pytest.mark.parametrize(
    "letter",
    [
        Hello("secret"),
        Ask(1, REQUEST, 2.5, False),
        Ask(2, Request(id="b", prompt=TokenPrompt(token_ids=(5, 6))), None, True),
        Order(3, "sleep", ("weights",)),
        Leave(4),
        Heard(5),
        Answer(6, (COMPLETION, COMPLETION)),
        Answer(7, EngineHealth(healthy=False, state="dead", error="gone", detail={"running": 1})),
        Answer(8, 12),
        Answer(8, REPORT),
        Answer(9, None),
        Piece(10, Delta(index=1, text="wo", token_ids=(3,), logprobs=(-1.0,), finish_reason="stop")),
        News(11, INFO, frozenset({"weights"}), True),
        Gone("killed"),
    ],
)
def test_there_and_back(letter: object) -> None:
    assert unpack(json.loads(json.dumps(pack(letter)))) == letter  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        InputError("no model 'x'"),
        StartError("no room"),
        AssayError("other"),
        GenerationError(FailureKind.OVERLOADED, "full", retry_after=2.0),
    ],
)
def test_errors_keep_type_and_words(error: AssayError) -> None:
    back = unpack(json.loads(json.dumps(pack(Refusal(1, error)))))
    assert isinstance(back, Refusal)
    assert type(back.error) is type(error)
    assert str(back.error) == str(error)
    if isinstance(error, GenerationError):
        assert isinstance(back.error, GenerationError)
        assert (back.error.kind, back.error.retry_after) == (error.kind, error.retry_after)
