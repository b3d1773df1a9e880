from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.engines.embedded.prefix import PrefixTree, Stretch, common_length, shared_stretches

tokens = st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple)


def tree(capacity: int = 1000) -> PrefixTree[tuple[int, ...]]:
    """The payload of a stretch is the stretch itself, one byte a token."""
    return PrefixTree(capacity, 1, lambda payload, at: (payload[:at], payload[at:]))


def remember(t: PrefixTree[tuple[int, ...]], prompt: tuple[int, ...]) -> None:
    t.insert(prompt, lambda start, stop: prompt[start:stop])


def known(t: PrefixTree[tuple[int, ...]], prompt: tuple[int, ...], limit: int = 99) -> tuple[int, ...]:
    parts, covered = t.match(prompt, limit)
    joined = tuple(token for payload, take in parts for token in payload[:take])
    assert len(joined) == covered
    return joined


@given(tokens, tokens)
def test_common_length(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    length = common_length(a, b)
    assert a[:length] == b[:length]
    assert length == min(len(a), len(b)) or a[length] != b[length]


@given(st.lists(tokens, min_size=1, max_size=12), tokens, st.integers(0, 12))
def test_match_gives_the_longest_known_beginning(
    stored: list[tuple[int, ...]], prompt: tuple[int, ...], limit: int
) -> None:
    t = tree()
    for one in stored:
        remember(t, one)
    longest = min(limit, max(common_length(prompt, one) for one in stored))
    assert known(t, prompt, limit) == prompt[:longest]


@given(st.lists(tokens, max_size=12))
def test_every_token_is_stored_once(stored: list[tuple[int, ...]]) -> None:
    t = tree()
    for one in stored:
        remember(t, one)
    assert t.tokens == len({one[: i + 1] for one in stored for i in range(len(one))})
    assert t.clear() == t.tokens + len({one[: i + 1] for one in stored for i in range(len(one))})
    assert t.nbytes == 0


@given(st.lists(tokens, min_size=1, max_size=20), st.integers(1, 15))
def test_capacity_holds_and_what_is_left_is_true(stored: list[tuple[int, ...]], capacity: int) -> None:
    t = tree(capacity)
    for one in stored:
        remember(t, one)
        assert t.nbytes <= capacity
        found = known(t, one)
        assert found == one[: len(found)]


def test_the_least_recently_used_end_goes_first_and_the_shared_beginning_stays() -> None:
    t = tree(capacity=7)
    remember(t, (1, 1, 1, 2, 2))
    remember(t, (1, 1, 1, 3, 3))
    assert known(t, (1, 1, 1, 2, 2)) == (1, 1, 1, 2, 2)
    remember(t, (1, 1, 1, 4))
    assert known(t, (1, 1, 1, 3, 3)) == (1, 1, 1)
    assert known(t, (1, 1, 1, 2, 2)) == (1, 1, 1, 2, 2)


def test_a_prompt_larger_than_the_cache_leaves_it_as_it_was() -> None:
    t = tree(capacity=4)
    remember(t, (1, 2, 3))
    remember(t, (9,) * 5)
    assert known(t, (1, 2, 3)) == (1, 2, 3)


def test_a_missing_stretch_is_fetched_alone() -> None:
    t = tree()
    asked: list[tuple[int, int]] = []

    def fetch(prompt: tuple[int, ...]):
        def take(start: int, stop: int) -> tuple[int, ...]:
            asked.append((start, stop))
            return prompt[start:stop]

        return take

    for prompt in ((1, 2, 3, 4), (1, 2, 5), (1, 2), (1, 2, 5)):
        t.insert(prompt, fetch(prompt))
    assert asked == [(0, 4), (2, 3)]


def test_stretches_end_where_prompts_part() -> None:
    a, b, c = (1,) * 8 + (2, 3), (1,) * 8 + (2, 4), (1,) * 6 + (5, 5)
    assert shared_stretches([a, b, c], [0, 0, 0], least=4) == [Stretch((0, 1, 2), 6)]
    assert shared_stretches([a, b, c], [6, 6, 6], least=3) == [Stretch((0, 1), 9)]
    assert shared_stretches([a, b, c], [6, 6, 6], least=4) == []


def test_two_groups_are_two_stretches() -> None:
    prompts = [(1, 1, 1, 1, 7), (2, 2, 2, 2, 7), (1, 1, 1, 1, 8), (2, 2, 2, 2, 8), (3, 3)]
    found = shared_stretches(prompts, [0] * 5, least=2)
    assert sorted(found, key=lambda s: s.members) == [Stretch((0, 2), 4), Stretch((1, 3), 4)]


def test_equal_prompts_keep_their_last_token_for_themselves() -> None:
    assert shared_stretches([(1, 2, 3, 4)] * 3, [0] * 3, least=2) == [Stretch((0, 1, 2), 3)]


@given(st.lists(tokens, max_size=8), st.integers(1, 5))
def test_members_of_a_stretch_agree_on_it(prompts: list[tuple[int, ...]], least: int) -> None:
    found = shared_stretches(prompts, [0] * len(prompts), least)
    members = [i for stretch in found for i in stretch.members]
    assert len(members) == len(set(members))
    for stretch in found:
        assert len(stretch.members) > 1
        assert least <= stretch.stop < min(len(prompts[i]) for i in stretch.members)
        assert len({prompts[i][: stretch.stop] for i in stretch.members}) == 1
