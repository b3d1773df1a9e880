from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assay.engines.embedded.text import Reply


def as_bytes(ids: Sequence[int]) -> str:
    """One token a byte, as a byte-level tokenizer at its smallest."""
    return bytes(ids).decode("utf-8", errors="replace")


def feed(text: str, *stops: str) -> tuple[Reply, bool]:
    reply = Reply(as_bytes, stops)
    stopped = any(reply.push(byte) for byte in text.encode())
    return reply, stopped or reply.finish()


def test_text_and_ids_grow_together() -> None:
    reply, stopped = feed("abc")
    assert (reply.text, reply.ids, stopped) == ("abc", [97, 98, 99], False)


def test_the_text_ends_before_the_stop_string_and_so_do_the_ids() -> None:
    reply, stopped = feed("yes\n\nno", "\n\n")
    assert stopped
    assert reply.text == "yes"
    assert bytes(reply.ids) == b"yes"


def test_the_earliest_stop_string_wins() -> None:
    reply, _ = feed("a, b; c", ";", ",")
    assert reply.text == "a"


def test_a_stop_string_at_the_start_leaves_nothing() -> None:
    reply, stopped = feed("##", "##")
    assert (reply.text, reply.ids, stopped) == ("", [], True)


def test_a_token_that_holds_text_and_the_stop_string_is_kept() -> None:
    words = {1: "one", 2: ".\n", 3: "two"}
    reply = Reply(lambda ids: "".join(words[i] for i in ids), ("\n",))
    assert [reply.push(1), reply.push(2)] == [False, True]
    assert (reply.text, reply.ids) == ("one.", [1, 2])


def test_half_a_character_is_never_shown() -> None:
    reply = Reply(as_bytes, ())
    shown: list[str] = []
    for byte in "a中".encode()[:3]:
        reply.push(byte)
        shown.append(reply.text)
    assert shown == ["a", "a", "a"]
    reply.finish()
    assert reply.text == "a"
    assert len(reply.ids) == 3


def test_bytes_that_never_become_a_character_do_not_hold_the_text_back_for_ever() -> None:
    reply = Reply(as_bytes, ())
    for byte in [0xFF] * 9 + list(b"ok"):
        reply.push(byte)
    assert reply.text.endswith("ok")


def test_a_stop_character_of_several_tokens_takes_all_of_them_along() -> None:
    reply, stopped = feed("好。", "。")
    assert stopped
    assert (reply.text, bytes(reply.ids)) == ("好", "好".encode())


def test_the_end_token_has_an_id_and_no_text() -> None:
    reply = Reply(as_bytes, ("!",))
    reply.push(97)
    reply.end(999)
    assert (reply.text, reply.ids) == ("a", [97, 999])


def test_what_may_become_a_stop_string_is_held_back() -> None:
    reply = Reply(as_bytes, ("END",))
    told: list[str] = []
    for byte in b"xEENx":
        reply.push(byte)
        told.append(reply.news(final=False)[0])
    assert told == ["x", "", "E", "", "ENx"]


@given(
    st.text(alphabet="ab!\n中😀", max_size=12),
    st.lists(st.text(alphabet="ab!\n中", min_size=1, max_size=3), max_size=2),
)
def test_what_is_told_piece_by_piece_is_the_whole(text: str, stops: list[str]) -> None:
    reply = Reply(as_bytes, stops)
    pieces: list[tuple[str, int, int]] = []
    for byte in text.encode():
        stopped = reply.push(byte)
        pieces.append(reply.news(final=stopped))
        if stopped:
            break
    reply.finish()
    pieces.append(reply.news(final=True))
    assert "".join(piece for piece, _, _ in pieces) == reply.text
    assert [i for _, start, stop in pieces for i in reply.ids[start:stop]] == reply.ids
    cut = min([text.find(stop) for stop in stops if stop in text], default=len(text))
    # The stop string that is complete first ends the text, so a longer one that began earlier may be missed.
    assert reply.text == text[:cut] or (len(stops) > 1 and text.startswith(reply.text))
    assert bytes(reply.ids).decode(errors="ignore") == reply.text
