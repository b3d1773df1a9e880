import asyncio

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.sglang.flights import Flights, Gate

LATER = Deadline.never()
ASLEEP = GenerationError(FailureKind.ASLEEP, "asleep", retry_after=2.0)


class Server:
    def __init__(self) -> None:
        self.aborted: list[str] = []

    async def abort(self, rid: str) -> None:
        self.aborted.append(rid)


async def fly(flights: Flights, deadline: Deadline, begun: asyncio.Event) -> None:
    with flights.board(deadline) as flight:
        async with flight.waiting():
            begun.set()
            await asyncio.sleep(60)


def test_a_call_that_was_answered_is_not_aborted() -> None:
    async def main() -> None:
        server = Server()
        flights = Flights(server.abort)
        with flights.board(LATER) as flight:
            async with flight.waiting():
                flight.answered = True
        await flights.settled()
        assert (server.aborted, flights.aborted, len(flights)) == ([], 0, 0)

    asyncio.run(main())


def test_a_deadline_and_a_caller_who_leaves_abort_by_an_id_of_their_own() -> None:
    async def main() -> None:
        server = Server()
        flights = Flights(server.abort)
        with pytest.raises(GenerationError) as caught:
            await fly(flights, Deadline.after(0.02), asyncio.Event())
        assert caught.value.kind is FailureKind.TIMEOUT
        begun = asyncio.Event()
        task = asyncio.create_task(fly(flights, LATER, begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await flights.settled()
        assert flights.aborted == len(set(server.aborted)) == 2
        # The server aborts whatever begins with the id it is given, so none may begin with another.
        assert {len(rid) for rid in server.aborted} == {32}

    asyncio.run(main())


def test_all_flights_can_be_ended_with_one_reason_at_once() -> None:
    async def main() -> None:
        server = Server()
        flights = Flights(server.abort)
        begun = [asyncio.Event() for _ in range(3)]
        tasks = [asyncio.create_task(fly(flights, LATER, one)) for one in begun]
        await asyncio.gather(*(one.wait() for one in begun))
        assert flights.end_all(ASLEEP) == 3
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert found == [ASLEEP] * 3
        await flights.settled()
        assert len(server.aborted) == 3

    asyncio.run(main())


def test_a_flight_that_was_ended_between_two_waits_does_not_begin_another() -> None:
    async def main() -> None:
        flights = Flights(Server().abort)
        with flights.board(LATER) as flight:
            async with flight.waiting():
                pass
            flights.end_all(ASLEEP)
            with pytest.raises(GenerationError, match="asleep"):
                async with flight.waiting():
                    raise AssertionError("it must not get here")
        await flights.settled()

    asyncio.run(main())


def test_an_abort_that_fails_harms_nobody() -> None:
    async def refuse(rid: str) -> None:
        raise GenerationError(FailureKind.ENGINE_ERROR, f"no server for {rid}")

    async def main() -> None:
        flights = Flights(refuse)
        with flights.board(LATER):
            pass
        await flights.settled()

    asyncio.run(main())


async def inside(gate: Gate, stay: asyncio.Event) -> str:
    async with gate.enter(LATER):
        await stay.wait()
    return "went in"


def test_a_gate_turns_away_lets_in_and_knows_who_is_inside() -> None:
    async def main() -> None:
        gate, stay = Gate(), asyncio.Event()
        with pytest.raises(GenerationError, match=r"await start\(\) first"):
            await inside(gate, stay)
        gate.open()
        task = asyncio.create_task(inside(gate, stay))
        await asyncio.sleep(0)
        assert gate.inside == 1
        gate.shut(ASLEEP)
        with pytest.raises(GenerationError) as caught:
            await inside(gate, stay)
        assert (caught.value.kind, caught.value.retry_after) == (FailureKind.ASLEEP, 2.0)
        assert not await gate.empty(0.02)
        stay.set()
        assert await gate.empty(1)
        assert await task == "went in"

    asyncio.run(main())


def test_a_held_gate_makes_wait_until_it_opens_or_the_deadline_passes() -> None:
    async def main() -> None:
        gate, stay = Gate(), asyncio.Event()
        stay.set()
        gate.hold()
        task = asyncio.create_task(inside(gate, stay))
        with pytest.raises(GenerationError) as caught:
            async with gate.enter(Deadline.after(0.02)):
                raise AssertionError("it must not get here")
        assert caught.value.kind is FailureKind.TIMEOUT
        assert gate.inside == 0
        gate.open()
        assert await task == "went in"
        gate.hold()
        late = asyncio.create_task(inside(gate, stay))
        await asyncio.sleep(0)
        gate.shut(ASLEEP)
        with pytest.raises(GenerationError, match="asleep"):
            await late

    asyncio.run(main())
