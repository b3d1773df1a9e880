from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.rl.staleness import StalenessGate, Wanted


def test_without_staleness_a_step_waits_for_its_own_batch() -> None:
    gate = StalenessGate(batch_size=2, max_staleness=0)
    first, second = gate.start(), gate.start()
    assert gate.open == 0
    gate.finish(second)
    assert gate.wanted() == Wanted(wait_for=(first,))
    gate.finish(first)
    assert gate.wanted() == Wanted(take=(first, second))
    assert gate.take((first, second)) == (0, 0)
    assert (gate.version, gate.open) == (0, 0), "what is started now would have old weights"
    gate.published()
    assert (gate.version, gate.open) == (1, 2)


def test_a_fast_group_may_overtake_a_slow_one_but_not_beyond_its_last_step() -> None:
    gate = StalenessGate(batch_size=1, max_staleness=2)
    slow, other, fast = gate.start(), gate.start(), gate.start()
    gate.finish(fast)
    # Two older groups would be left for the two steps that they may still be used in: that is just in time.
    assert gate.wanted() == Wanted(take=(fast,))
    gate.take((fast,))
    gate.published()
    newer = gate.start()
    gate.finish(newer)
    # Taking the newer one now would leave two groups for the one step that is left to them.
    assert gate.wanted() == Wanted(wait_for=(slow, other))
    gate.finish(other)
    assert gate.wanted() == Wanted(take=(other,))


def test_a_dropped_group_makes_room_for_another() -> None:
    gate = StalenessGate(batch_size=1, max_staleness=0)
    gate.drop(gate.start())
    assert gate.open == 1


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(InputError, match="at least one group"):
        StalenessGate(batch_size=0, max_staleness=1)


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**32))
def test_no_group_is_ever_older_than_allowed_and_none_is_lost(batch: int, staleness: int, seed: int) -> None:
    """Whatever finishes when: every batch is full, every age is within the bound, every group is trained on once."""
    chance = random.Random(seed)
    gate = StalenessGate(batch_size=batch, max_staleness=staleness)
    running: list[int] = []
    trained: list[int] = []
    for _ in range(200):
        while gate.open:
            running.append(gate.start())
        wanted = gate.wanted()
        if wanted.take:
            assert len(wanted.take) == batch
            assert all(age <= staleness for age in gate.take(wanted.take))
            trained += wanted.take
            while gate.open:
                running.append(gate.start())
            gate.published()
            continue
        assert set(wanted.wait_for) <= set(running), "somebody is running who can unblock the step"
        assert wanted.wait_for
        done = chance.choice(running)
        running.remove(done)
        if chance.random() < 0.2:
            gate.drop(done)
        else:
            gate.finish(done)
    assert len(trained) == len(set(trained))
