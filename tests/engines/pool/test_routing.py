from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assay.engines.pool.routing import Router
from assay.engines.pool.simulation import AtRandom, Job, Outcome, Replica, RoundRobin, Routing, simulate
from assay.engines.pool.tokens import CHUNK_TOKENS

SPEED = 1000.0


def router(affinity: float = 1.0, entries: int = 1000, seed: int = 0) -> Router:
    return Router(affinity=affinity, entries=entries, seed=seed)


def test_the_one_that_owes_least_gets_it() -> None:
    assert router().choose((), {0: 30.0, 1: 10.0, 2: 20.0}) == 1


def test_ties_are_broken_by_the_seed() -> None:
    def picks(seed: int) -> list[int]:
        r = router(seed=seed)
        return [r.choose((), dict.fromkeys(range(4), 0.0)) for _ in range(50)]

    assert picks(1) == picks(1)
    assert picks(1) != picks(2)
    assert set(picks(1)) == {0, 1, 2, 3}


def test_a_known_prefix_is_worth_some_load_and_no_more() -> None:
    r = router(affinity=0.5)
    r.sent((11, 12), 1)
    worth = 0.5 * 2 * CHUNK_TOKENS
    assert r.choose((11, 12), {0: 0.0, 1: worth}) == 1
    assert r.choose((11, 12), {0: 0.0, 1: worth + 1}) == 0
    assert r.choose((11, 99), {0: 0.0, 1: worth}) == 0  # one chunk in common is worth half
    assert r.choose((99,), {0: 0.0, 1: 1.0}) == 0


def test_of_two_that_know_the_prefix_the_lighter_gets_it() -> None:
    r = router()
    r.sent((11,), 1)
    r.sent((11,), 2)
    assert r.choose((11,), {0: 0.0, 1: 50.0, 2: 40.0}) == 2


def test_a_shorter_prefix_counts_where_the_holder_of_the_longest_is_too_busy() -> None:
    r = router()
    r.sent((11, 12, 13), 1)
    r.sent((11,), 2)
    owed = {0: 0.0, 1: 10_000.0, 2: 100.0}
    assert r.choose((11, 12, 13), owed) == 2


def test_a_replica_that_is_not_there_is_not_chosen() -> None:
    r = router()
    r.sent((11,), 1)
    assert r.choose((11,), {0: 100.0, 2: 50.0}) == 2


def test_what_was_cached_is_forgotten_with_the_replica() -> None:
    r = router()
    r.sent((11, 12), 1)
    r.sent((11,), 2)
    assert r.cached_tokens((11, 12, 13), 1) == 2 * CHUNK_TOKENS
    r.forget(1)
    assert r.cached_tokens((11, 12), 1) == 0
    assert r.cached_tokens((11, 12), 2) == CHUNK_TOKENS


def test_the_table_is_bounded_and_drops_what_was_used_least() -> None:
    r = router(entries=2)
    r.sent((1,), 0)
    r.sent((2,), 0)
    r.sent((1,), 1)
    r.sent((3,), 0)
    assert r.cached_tokens((2,), 0) == 0
    assert r.cached_tokens((1,), 0) == r.cached_tokens((3,), 0) == CHUNK_TOKENS


@given(
    st.dictionaries(st.integers(0, 5), st.floats(0, 1e6), min_size=1),
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=4), st.integers(0, 5)), max_size=20),
    st.lists(st.integers(0, 9), max_size=4),
)
def test_load_never_exceeds_the_least_by_more_than_the_prefix_is_worth(
    owed: dict[int, float], history: list[tuple[list[int], int]], keys: list[int]
) -> None:
    r = router(affinity=1.0)
    for sent, replica in history:
        r.sent(sent, replica)
    chosen = r.choose(keys, owed)
    assert owed[chosen] - min(owed.values()) <= len(keys) * CHUNK_TOKENS


# By simulation. Four replicas; groups of eight requests share six of eight chunks of their prompt.


def jobs(*, load: float, hot: float = 0.0, long: float = 0.0, requests: int = 1600, seed: int = 1) -> list[Job]:
    rng = random.Random(seed)
    made: list[Job] = []
    at = 0.0
    mean = 0.1 * 8 * CHUNK_TOKENS * 0.6 + 200 * (1 - long) + 2000 * long
    for group in range(requests // 8):
        at += rng.expovariate(4 * SPEED * load / (8 * mean))
        question = 0 if rng.random() < hot else group + 1
        for answer in range(8):
            reply = rng.randint(1500, 2500) if rng.random() < long else rng.randint(100, 300)
            keys = (*(question * 100 + i for i in range(6)), hash((group, answer, 6)), hash((group, answer, 7)))
            made.append(Job(at=at + answer / 100, keys=keys, prompt=8 * CHUNK_TOKENS, reply=reply))
    return made


def run(routing: Routing, work: Sequence[Job], first: Replica | None = None) -> Outcome:
    return simulate(routing, [first or Replica(SPEED), *(Replica(SPEED) for _ in range(3))], work)


def ours() -> Router:
    return router(affinity=0.5)


def test_requests_of_one_group_find_their_prefix() -> None:
    work = jobs(load=0.7)
    mine, chance = run(ours(), work), run(AtRandom(0), work)
    assert mine.hit_share > chance.hit_share * 1.1
    assert mine.p99_s < chance.p99_s
    assert mine.imbalance < 1.1


def test_a_hot_prefix_does_not_swamp_its_replica() -> None:
    work = jobs(load=0.7, hot=0.5)
    mine, turns = run(ours(), work), run(RoundRobin(), work)
    assert mine.imbalance < 1.15
    assert mine.p99_s <= turns.p99_s
    assert mine.hit_share >= turns.hit_share


def test_long_replies_do_not_hold_up_short_ones() -> None:
    work = jobs(load=0.7, long=0.1)
    mine, turns = run(ours(), work), run(RoundRobin(), work)
    assert mine.p99_s < 0.95 * turns.p99_s


def test_a_slow_replica_gets_what_it_can_do() -> None:
    work = jobs(load=0.5)
    mine, turns = run(ours(), work, Replica(SPEED / 10)), run(RoundRobin(), work, Replica(SPEED / 10))
    assert mine.p99_s < turns.p99_s / 10
    assert mine.p50_s < 2


def test_a_dead_replica_costs_no_request() -> None:
    work = jobs(load=0.5)
    mine = run(ours(), work, Replica(SPEED, dies_at=20.0))
    assert mine.lost == 0
    assert mine.retried > 0
    whole = run(ours(), work)
    assert mine.p99_s < 4 * whole.p99_s


def test_all_dead_is_all_lost() -> None:
    work = jobs(load=0.5, requests=80)
    gone = simulate(ours(), [Replica(SPEED, dies_at=0.0)], work)
    assert gone.lost == len(work)
