"""The faults of the original GenRM (contracts, section 6): each has a test that fails where the fault is there.

ignored ``max_context_len``
    tests/engines/test_instances.py::test_the_context_length_reaches_every_engine
    tests/service/test_contract.py::test_the_configured_context_length_holds
defaults that differ from the docs
    tests/wire/test_genrm.py::test_a_model_path_is_the_default_instance_with_the_seeds_defaults
    tests/service/test_contract.py::test_what_nobody_says_is_the_documented_default
500 for an unknown key
    tests/service/test_generate.py::test_an_unknown_route_key_is_a_404_that_names_it_and_lists_the_others
    tests/service/test_contract.py::test_an_unknown_key_is_a_404_on_every_route
judge failure scored 0
    tests/service/test_score.py::test_an_engine_that_failed_is_a_judgment_that_failed
    tests/service/test_score.py::test_a_text_without_a_verdict_is_a_typed_failure_and_never_a_score
    tests/scoring/test_faults.py::test_two_thousand_judgments_with_a_fifth_of_faults
any ``1`` in 16 characters counted as yes
    tests/judges/test_verifier.py::test_anything_else_is_a_parse_error_not_a_zero
    tests/service/test_contract.py::test_a_one_somewhere_in_the_text_is_no_yes
no recovery of dead engines in async mode
    tests/engines/pool/test_serving.py::test_what_a_dead_engine_worked_on_is_done_elsewhere
    tests/engines/pool/test_serving.py::test_the_requests_of_a_single_engine_wait_until_it_is_rebuilt
    tests/engines/pool/test_chaos.py::test_twenty_kills_in_five_thousand_requests_lose_nothing
health that answers 200 when unhealthy and blocks the event loop
    tests/service/test_status.py::test_a_service_is_unhealthy_until_its_engine_runs_and_takes_no_requests
    tests/service/test_status.py::test_health_does_not_wait_for_a_silent_engine
    tests/service/test_contract.py::test_health_that_waits_holds_nobody_up
requests forwarded to a sleeping engine
    tests/service/test_giving_up.py::test_offload_waits_for_what_runs_and_refuses_what_comes
    tests/engines/pool/test_lifecycle.py::test_nothing_is_forwarded_to_a_sleeping_engine
    tests/engines/sglang/test_killers.py::test_3_no_request_reaches_a_sleeping_server
swap hook tied to one instance
    tests/service/test_contract.py::test_each_instance_sleeps_and_wakes_by_itself
round-robin without regard to load
    tests/engines/pool/test_routing.py::test_a_slow_replica_gets_what_it_can_do
    tests/engines/pool/test_routing.py::test_long_replies_do_not_hold_up_short_ones
no abort after a client timeout
    tests/service/test_giving_up.py::test_a_client_that_leaves_stops_its_generation
    tests/service/test_generate.py::test_a_passed_deadline_is_a_504_and_the_engine_stops
    tests/client/test_client.py::test_an_answer_that_does_not_come_is_a_timeout_and_the_connection_is_closed
    tests/engines/sglang/test_flights.py::test_a_deadline_and_a_caller_who_leaves_abort_by_an_id_of_their_own
replicas that disagree through rank seeds
    tests/service/test_contract.py::test_a_seed_does_not_depend_on_the_replica
    tests/engines/pool/test_lifecycle.py::test_a_replica_that_differs_from_the_others_at_its_start_gets_no_request
rollout's engine flags leaking into the judge
    tests/service/test_contract.py::test_flags_of_the_rollout_are_no_flags_of_the_judge
client whose ``close()`` leaks its pool
    tests/client/test_client.py::test_close_really_closes
    tests/client/test_blocking.py::test_a_closed_client_leaves_no_thread
worst-case wait of 3 x 3 x 1800 s because no deadline crosses the hops
    tests/client/test_client.py::test_one_deadline_crosses_all_attempts
    tests/service/test_generate.py::test_the_deadline_of_the_header_reaches_the_engine
    tests/engines/openai/test_engine.py::test_one_deadline_for_all_attempts
    tests/engines/hosted/test_engine.py::test_a_deadline_crosses_into_the_process
a script called "split" that is configured as shared
    no launch script is part of this package
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.core.deadline import Deadline
from assay.core.types import Completion, Request, SamplingParams
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.judges import build_judge
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.hub import Hub
from assay.service.settings import ServiceSettings
from assay.wire.genrm import GenRMConfig
from assay.wire.score import FailureReply, ScoreReply, VerdictReply

from .doubles import ITEM, USER, Puppet, SleepyPuppet, client_of, make_app, post

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"(tests/\S+\.py)::(test_\w+)", __doc__ or "")


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_list_names_tests_that_exist(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_configured_context_length_holds() -> None:
    config = ServeConfig(
        genrm=GenRMConfig.model_validate({"genrm_model_path": "fake", "genrm_engine_config": {"max_context_len": 6}}),
        engine="fake",
    )
    reply = post(create_app(assemble(config), ServiceSettings()), "/generate", {"messages": USER})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["type"] == "context_overflow"
    assert re.search(r"\b8\b.*\b6\b", error["message"])


def test_what_nobody_says_is_the_documented_default() -> None:
    engine = Puppet()
    config = ServeConfig(genrm=GenRMConfig(genrm_model_path="puppet"))
    app = create_app(assemble(config, engines={"__default__": engine}), ServiceSettings())
    assert post(app, "/generate", {"messages": USER}).status_code == 200
    assert engine.requests[0].sampling == SamplingParams(temperature=0.1, top_p=1.0, top_k=-1, max_new_tokens=4096)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {"messages": USER, "route_key": "qualty"}),
        ("/score", {"judge": "verifier", "item": ITEM, "route_key": "qualty"}),
        ("/v1/chat/completions", {"messages": USER, "model": "qualty"}),
        ("/offload", {"route_key": "qualty"}),
        ("/onload", {"route_key": "qualty"}),
    ],
)
def test_an_unknown_key_is_a_404_on_every_route(path: str, body: dict[str, Any]) -> None:
    engines: dict[str, Puppet] = {"quality": SleepyPuppet(), "safety": SleepyPuppet()}
    reply = post(make_app(engines), path, body)
    assert reply.status_code == 404
    told = "No GenRM instance registered for route_key='qualty'; registered: ['quality', 'safety']"
    assert reply.json()["error"]["message"] == told
    assert not any(engine.requests for engine in engines.values())


def score(engine: Puppet) -> ScoreReply:
    reply = post(make_app(engine), "/score", {"judge": "verifier", "item": ITEM})
    assert reply.status_code == 200
    model = VerdictReply if "verdict" in reply.json() else FailureReply
    return model.model_validate_json(reply.content)


@pytest.mark.parametrize("text", ["10", "0 (not 1)", "Answer 1 is bad", "-1", "1/2", "0.1", "No. 1) is wrong"])
def test_a_one_somewhere_in_the_text_is_no_yes(text: str) -> None:
    reply = score(Puppet(text=text))
    assert isinstance(reply, FailureReply)
    assert reply.failure.kind == "parse_error"


def test_health_that_waits_holds_nobody_up() -> None:
    async def run() -> None:
        silent = Puppet(health_gate=asyncio.Event())
        async with client_of(make_app(silent, health_timeout_s=5)) as client:
            asking = asyncio.create_task(client.get("/health"))
            await asyncio.sleep(0)
            assert (await client.post("/generate", json={"messages": USER})).status_code == 200
            assert not asking.done()
            assert silent.health_gate is not None
            silent.health_gate.set()
            assert (await asking).status_code == 200

    asyncio.run(run())


def test_each_instance_sleeps_and_wakes_by_itself() -> None:
    async def run() -> None:
        engines: dict[str, Puppet] = {"quality": SleepyPuppet(text="q"), "safety": SleepyPuppet(text="s")}
        async with client_of(make_app(engines)) as client:

            async def answers() -> list[int]:
                bodies = [{"messages": USER, "route_key": key} for key in engines]
                return [(await client.post("/generate", json=body)).status_code for body in bodies]

            for first, asleep in (("quality", [503, 200]), ("safety", [200, 503])):
                assert (await client.post("/offload", json={"route_key": first})).json()["state"] == "asleep"
                assert await answers() == asleep
                assert (await client.post("/onload", json={"route_key": first})).json()["state"] == "ready"
                assert await answers() == [200, 200]
            # Which of several is meant has to be said; nothing goes to sleep by a guess.
            assert (await client.post("/offload", json={})).status_code == 404
            assert await answers() == [200, 200]

    asyncio.run(run())


class Listening(FakeEngine):
    """Takes its time, so that two requests at once go to two replicas, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(FakeConfig(latency_s=0.05, replies=("1", "0")))
        self.asked: list[Request] = []

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        self.asked.append(request)
        return await super().generate(request, deadline)


def test_a_seed_does_not_depend_on_the_replica() -> None:
    """The same judgment on two replicas at once: equal seeds, so equal texts."""
    replicas = [Listening(), Listening()]
    pool = PoolEngine(PoolConfig(size=2), replicas.__getitem__)
    judges = {"verifier": build_judge("verifier")}
    app = create_app(Hub(instances={"__default__": Scorer(pool, deduplicate=False)}, judges=judges), ServiceSettings())

    async def run() -> None:
        async with client_of(app) as client:
            for engine in replicas:
                engine.asked.clear()
            body = {"judge": "verifier", "item": ITEM}
            replies = await asyncio.gather(*(client.post("/score", json=body) for _ in range(4)))
            votes = [VerdictReply.model_validate_json(reply.content).verdict.votes[0] for reply in replies]
            assert len({(vote.seed, vote.text) for vote in votes}) == 1

    asyncio.run(run())
    asked = [[request.sampling.seed for request in engine.asked if request.id] for engine in replicas]
    assert all(asked), "both replicas judged"


@pytest.mark.parametrize("flag", ["sglang_mem_fraction_static", "sglang_context_length", "rollout_num_gpus_per_engine"])
def test_flags_of_the_rollout_are_no_flags_of_the_judge(flag: str) -> None:
    with pytest.raises(ValidationError, match=flag):
        GenRMConfig.model_validate({"genrm_model_path": "judge", flag: 1})
    spec = GenRMConfig(genrm_model_path="judge").specs()["__default__"]
    assert spec.engine.mem_fraction_static is None
    assert spec.engine.passed_through == {}
