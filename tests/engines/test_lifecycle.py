from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.base import Tag
from assay.engines.lifecycle import (
    ALL_TAGS,
    Action,
    CanaryFailed,
    Died,
    Do,
    Event,
    Failed,
    IllegalEvent,
    Life,
    Release,
    Resume,
    Resumed,
    Sign,
    SleepAsked,
    State,
    WakeAsked,
    advance,
    begin,
)

WEIGHTS: frozenset[Tag] = frozenset({"weights"})
KV: frozenset[Tag] = frozenset({"kv_cache"})
UP: tuple[Event, ...] = (Sign.STARTED, Sign.CANARY_PASSED)


def live(*events: Event) -> tuple[Life, list[Action]]:
    """The life after these events, and every action on the way."""
    life, actions = begin()
    done = list(actions)
    for event in events:
        life, actions = advance(life, event)
        done += actions
    return life, done


def last(*events: Event) -> tuple[State, tuple[Action, ...]]:
    """The state after these events, and the actions of the last one."""
    life, _ = live(*events[:-1])
    life, actions = advance(life, events[-1])
    return life.state, actions


def asleep(tags: frozenset[Tag] = ALL_TAGS) -> tuple[Event, ...]:
    return (*UP, SleepAsked(tags), Sign.DRAINED, Sign.RELEASED)


def test_a_start_ends_in_ready_after_a_passed_canary() -> None:
    life, actions = live(*UP)
    assert life.state is State.READY
    assert life.admits
    assert actions == [Do.START, Do.RUN_CANARY, Do.OPEN_ADMISSION]


def test_sleep_stops_admission_before_it_drains_and_releases_when_nothing_runs() -> None:
    assert last(*UP, SleepAsked(ALL_TAGS)) == (State.DRAINING, (Do.STOP_ADMISSION, Do.DRAIN))
    state, actions = last(*UP, SleepAsked(ALL_TAGS), Sign.DRAINED)
    assert (state, actions) == (State.DRAINING, (Do.FLUSH, Release(ALL_TAGS), Do.CHECK_MEMORY))
    assert last(*asleep()) == (State.ASLEEP, ())


def test_what_still_runs_at_the_drain_deadline_is_aborted_first() -> None:
    state, actions = last(*UP, SleepAsked(KV), Sign.DRAIN_DEADLINE)
    assert (state, actions) == (State.DRAINING, (Do.ABORT_RUNNING,))
    assert last(*UP, SleepAsked(KV), Sign.DRAIN_DEADLINE, Sign.DRAINED)[1][1] == Release(KV)


def test_wake_brings_weights_then_kv_cache_then_the_canary() -> None:
    wake = (*asleep(), WakeAsked(ALL_TAGS))
    assert last(*wake) == (State.WAKING, (Resume("weights"),))
    assert last(*wake, Resumed("weights")) == (State.WAKING, (Resume("kv_cache"),))
    assert last(*wake, Resumed("weights"), Resumed("kv_cache")) == (State.WAKING, (Do.RUN_CANARY,))
    assert last(*wake, Resumed("weights"), Resumed("kv_cache"), Sign.CANARY_PASSED)[0] is State.READY


def test_a_wake_of_one_tag_leaves_the_other_asleep_and_runs_no_canary() -> None:
    life, actions = live(*asleep(), WakeAsked(WEIGHTS), Resumed("weights"))
    assert (life.state, life.released) == (State.ASLEEP, KV)
    assert actions.count(Do.RUN_CANARY) == 1  # that of the start


def test_a_second_tag_can_follow_the_first_to_sleep() -> None:
    state, actions = last(*asleep(KV), SleepAsked(ALL_TAGS))
    assert (state, actions) == (State.DRAINING, (Release(WEIGHTS), Do.CHECK_MEMORY))
    assert live(*asleep(KV), SleepAsked(ALL_TAGS), Sign.RELEASED)[0].released == ALL_TAGS


def test_a_failed_canary_reloads_once_and_then_shuts_the_engine_away() -> None:
    woken = (*asleep(KV), WakeAsked(KV), Resumed("kv_cache"))
    assert last(*woken, CanaryFailed("off by 9 nats")) == (State.WAKING, (Do.RELOAD_FROM_DISK,))
    reloaded = (*woken, CanaryFailed("off by 9 nats"), Sign.RELOADED)
    assert last(*reloaded, Sign.CANARY_PASSED)[0] is State.READY
    assert last(*reloaded, CanaryFailed("off by 8 nats")) == (State.QUARANTINED, (Do.QUARANTINE,))
    assert live(*reloaded, CanaryFailed("off by 8 nats"))[0].reason == "off by 8 nats"
    unread = (*woken, CanaryFailed("off by 9 nats"), Failed("disk error"))
    assert last(*unread) == (State.QUARANTINED, (Do.QUARANTINE,))
    assert live(*unread)[0].reason == "off by 9 nats; disk error"


def test_each_wake_may_reload_anew() -> None:
    once = (*asleep(KV), WakeAsked(KV), Resumed("kv_cache"), CanaryFailed(""), Sign.RELOADED, Sign.CANARY_PASSED)
    again = (*once, SleepAsked(KV), Sign.DRAINED, Sign.RELEASED, WakeAsked(KV), Resumed("kv_cache"))
    assert last(*again, CanaryFailed(""))[1] == (Do.RELOAD_FROM_DISK,)


def test_a_dead_engine_is_retired_and_rebuilt() -> None:
    assert last(*UP, Died("killed")) == (State.DEAD, (Do.STOP_ADMISSION, Do.RETIRE, Do.REBUILD))
    assert last(*UP, Died("killed"), Sign.REBUILT) == (State.STARTING, (Do.START,))
    assert live(*UP, Died("killed"))[0].coming


@pytest.mark.parametrize("end", [Failed("502"), Died("killed")])
def test_one_that_dies_or_fails_while_it_releases_stays_dead_until_it_is_asked_to_wake(end: Event) -> None:
    gone = (*UP, SleepAsked(ALL_TAGS), Sign.DRAINED, end)
    assert last(*gone) == (State.DEAD, (Do.STOP_ADMISSION, Do.RETIRE))
    assert not live(*gone)[0].coming
    assert last(*gone, WakeAsked(WEIGHTS)) == (State.DEAD, ())
    assert last(*gone, WakeAsked(WEIGHTS), WakeAsked(KV)) == (State.DEAD, (Do.REBUILD,))


def test_a_failed_resume_is_not_tried_again() -> None:
    state, actions = last(*asleep(), WakeAsked(ALL_TAGS), Failed("out of memory"))
    assert (state, actions) == (State.DEAD, (Do.STOP_ADMISSION, Do.RETIRE, Do.REBUILD))


@pytest.mark.parametrize("before", [(), (Sign.STARTED,), (Sign.STARTED, CanaryFailed("drift"))])
def test_memory_asked_of_one_that_cannot_sleep_is_had_by_ending_it(before: tuple[Event, ...]) -> None:
    assert last(*before, SleepAsked(KV)) == (State.DEAD, (Do.STOP_ADMISSION, Do.RETIRE))
    assert last(*before, SleepAsked(KV), WakeAsked(KV))[1] == (Do.REBUILD,)


def test_new_weights_go_in_when_nothing_runs_and_have_to_pass_the_canary() -> None:
    assert last(*UP, Sign.UPDATE_ASKED) == (State.DRAINING, (Do.STOP_ADMISSION, Do.DRAIN))
    assert last(*UP, Sign.UPDATE_ASKED, Sign.DRAINED) == (State.DRAINING, (Do.FLUSH,))
    assert last(*UP, Sign.UPDATE_ASKED, Sign.DRAINED, Sign.SETTLED) == (State.WAKING, (Do.RUN_CANARY,))


def test_new_weights_can_go_in_between_the_two_halves_of_a_wake() -> None:
    half = (*asleep(), WakeAsked(WEIGHTS), Resumed("weights"), Sign.UPDATE_ASKED, Sign.SETTLED)
    life, _ = live(*half)
    assert (life.state, life.released) == (State.ASLEEP, KV)
    with pytest.raises(IllegalEvent):
        live(*asleep(), Sign.UPDATE_ASKED)


@pytest.mark.parametrize(
    ("events", "illegal", "said"),
    [
        ((), WakeAsked(KV), "starting"),
        (UP, Sign.RELEASED, "ready"),
        (UP, SleepAsked(frozenset()), "ready"),
        ((*UP, SleepAsked(KV)), WakeAsked(KV), "draining"),
        (asleep(KV), SleepAsked(KV), "asleep"),
        (asleep(KV), WakeAsked(WEIGHTS), "asleep"),
        ((*UP, Died("killed")), Died("again"), "dead"),
        ((*UP, Died("killed")), Sign.CANARY_PASSED, "dead"),
        ((Sign.STARTED, CanaryFailed("drift")), Sign.CANARY_PASSED, "quarantined"),
    ],
)
def test_an_illegal_event_names_the_state_and_itself(events: tuple[Event, ...], illegal: Event, said: str) -> None:
    life, _ = live(*events)
    with pytest.raises(IllegalEvent, match=said) as caught:
        advance(life, illegal)
    assert repr(illegal) in str(caught.value)


EVENTS: tuple[Event, ...] = (
    *Sign,
    *(asked(tags) for asked in (SleepAsked, WakeAsked) for tags in (frozenset(), KV, WEIGHTS, ALL_TAGS)),
    Resumed("weights"),
    Resumed("kv_cache"),
    CanaryFailed("drift"),
    Failed("failed"),
    Died("died"),
)


@dataclass(frozen=True)
class World:
    """What an executor that does as it is told has done."""

    life: Life
    door: bool = False
    proven: bool = False
    out: frozenset[Tag] = frozenset()

    def after(self, event: Event) -> World:
        life, actions = advance(self.life, event)
        proven = event is Sign.CANARY_PASSED or (self.proven and self.life.admits)
        world = replace(self, life=replace(life, reason=None), proven=proven)
        for action in actions:
            world = world.doing(action)
        return world

    def doing(self, action: Action) -> World:
        match action:
            case Do.OPEN_ADMISSION:
                assert self.proven, "opened without a passed canary"
                return replace(self, door=True)
            case Do.STOP_ADMISSION:
                return replace(self, door=False)
            case Do.RETIRE:
                return replace(self, out=frozenset())
            case Release(tags):
                assert not self.door, "released while serving"
                assert not tags & self.out, "released twice"
                return replace(self, out=self.out | tags)
            case Resume(tag):
                assert tag in self.out, "resumed what was not released"
                return replace(self, out=self.out - {tag})
            case _:
                return self


def test_no_sequence_of_events_breaks_a_promise() -> None:
    """All of them: the machine is finite, so every state that can be reached is visited."""
    unseen, seen = [World(begin()[0])], set[World]()
    while unseen:
        world = unseen.pop()
        if world in seen:
            continue
        seen.add(world)
        assert world.door == world.life.admits == (world.life.state is State.READY)
        assert not (world.door and world.out), "serves with memory given back"
        if world.life.state is not State.DEAD:
            unseen.append(world.after(Died("killed")))
        for event in EVENTS:
            if _is_legal(world.life, event):
                unseen.append(world.after(event))
    assert {world.life.state for world in seen} == set(State)


@given(st.lists(st.integers(0, len(EVENTS) - 1), max_size=80))
def test_a_dead_engine_serves_again_only_after_a_whole_start(picks: list[int]) -> None:
    life, since_death = begin()[0], list[Event]()
    for pick in picks:
        legal = [event for event in EVENTS if _is_legal(life, event)]
        event = legal[pick % len(legal)]
        since_death = [] if isinstance(event, Died) else [*since_death, event]
        life, _ = advance(life, event)
        if life.admits:
            assert Sign.STARTED in since_death
            assert Sign.CANARY_PASSED in since_death[since_death.index(Sign.STARTED) :]


def _is_legal(life: Life, event: Event) -> bool:
    try:
        advance(life, event)
    except IllegalEvent:
        return False
    return True
