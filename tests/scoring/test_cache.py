from __future__ import annotations

import tracemalloc

from assay.core.types import Completion, TokenLogprob
from assay.scoring.cache import VerdictCache


def said(number: int, tokens: int) -> tuple[Completion, ...]:
    """A completion of its own, none of its parts shared with another."""
    ids = tuple(range(1000 * number + 1000, 1000 * number + 1000 + tokens))
    logprobs = tuple(-token / 7 for token in ids)
    tops = tuple((TokenLogprob(token_id=token, text=f"t{token}", logprob=-token / 3),) for token in ids)
    return (
        Completion(request_id=f"r-{number}", text="x" * tokens, token_ids=ids, logprobs=logprobs, top_logprobs=tops),
    )


def fill(cache: VerdictCache, entries: int, tokens: int) -> int:
    """The bytes that so many entries take."""
    tracemalloc.start()
    try:
        for number in range(entries):
            cache.put(f"{number:064d}-0", said(number, tokens))
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_long_texts_take_no_more_memory_than_short_ones() -> None:
    bound = 1 << 20
    for entries, tokens in ((3_000, 0), (300, 100), (20, 1_000)):
        cache = VerdictCache(memory_bytes=bound)
        assert 0.6 * bound < fill(cache, entries, tokens) < 1.3 * bound, tokens


def test_the_entry_that_was_used_last_stays_and_a_hit_counts_as_use() -> None:
    cache = VerdictCache(memory_bytes=1_500)
    one, two, three = (said(number, 0) for number in range(3))
    cache.put("one", one)
    cache.put("two", two)
    assert cache.get("one") == one
    cache.put("three", three)
    assert (cache.get("one"), cache.get("two"), cache.get("three")) == (one, None, three)


def test_putting_an_entry_again_takes_no_more_room() -> None:
    cache = VerdictCache(memory_bytes=1_500)
    cache.put("other", said(0, 0))
    for _ in range(5):
        cache.put("same", said(1, 0))
    assert cache.get("other") is not None
