"""Cut or whole, a text has the same ids."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, normalizers, pre_tokenizers

from assay.training.sft.lines import LineTokenizer, known_lines, lines_before_breaks, lines_behind_breaks, words

from .bytelevel import LLAMA, QWEN, QWEN_MARKS, WholeTexts, gpt2, split, tokenizer

KNOWN = {
    "gpt2": lambda: tokenizer(gpt2(digits=False)),
    "smollm": lambda: tokenizer(gpt2()),
    "llama": lambda: tokenizer(split(LLAMA)),
    "qwen": lambda: tokenizer(split(QWEN), nfc=True),
    "qwen marks": lambda: tokenizer(split(QWEN_MARKS), nfc=True),
}
SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
TEXTS = (
    "'s",
    "'RE",
    "the",
    " answer",
    "[[question",
    "中",
    "答案",
    "。",
    "，",
    "٣",
    "½",
    "😀",
    "<end>",
    "<user>",
    "<s>",
)
MARKS = ("\u200b", "\u0301", "\u0338", "e\u0301", "=", *"abD09.,'!?][")
PIECES = st.sampled_from([*SPACES, "\n", "\n\n", " ", "  ", "\r\n", *MARKS, *TEXTS])


@cache
def known(name: str) -> tuple[Any, LineTokenizer]:
    found = KNOWN[name]()
    return found, LineTokenizer(found)


def whole(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("name", KNOWN)
@given(pieces=st.lists(PIECES, max_size=14))
def test_a_text_in_parts_has_the_ids_of_the_whole(name: str, pieces: list[str]) -> None:
    tokenizer, lines = known(name)
    text = "".join(pieces)
    assert lines.ids(text) == whole(tokenizer, text)


@pytest.mark.parametrize("name", KNOWN)
def test_all_that_is_called_a_space(name: str) -> None:
    tokenizer, lines = known(name)
    assert known_lines(tokenizer) is not None
    for space in SPACES:
        for text in (f"a{space}\nb", f"a\n{space}b", f"a.\n{space}\n b", f"a{space} b", f"a {space}b"):
            assert lines.ids(text) == whole(tokenizer, text), ascii(text)


def test_where_a_text_is_cut() -> None:
    text = "a:\nb \nc\n\n d  e f\n"
    assert lines_before_breaks(text) == ["a:", "\nb \nc", "\n\n d  e f", "\n"]
    assert lines_behind_breaks(text) == ["a:\n", "b \n", "c\n\n d  e f\n"]
    assert words("\n\n d  e f") == ["\n\n d", "  e", " f"]


def added(*, token: AddedToken) -> Any:
    made = tokenizer(gpt2())
    made.add_tokens([token])
    return made


def normalized(normalizer: Any) -> Any:
    made = tokenizer(gpt2())
    made.backend_tokenizer.normalizer = normalizer
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda: tokenizer(gpt2(prefix=True)),
        lambda: tokenizer(pre_tokenizers.Metaspace()),
        lambda: tokenizer(split(r"\p{L}+\s*")),
        lambda: tokenizer(split(LLAMA), own=WholeTexts),
        lambda: added(token=AddedToken("<x>", lstrip=True)),
        lambda: added(token=AddedToken("a b")),
        lambda: normalized(normalizers.Replace(" ", "_")),
        lambda: normalized(normalizers.Lowercase()),
    ],
)
def test_under_any_other_tokenizer_texts_go_whole(make: Any) -> None:
    found = make()
    lines = LineTokenizer(found)
    assert lines._lines is None
    assert lines.ids("one a b <x>\ntwo\n") == whole(found, "one a b <x>\ntwo\n")


def test_truncation_and_padding_of_the_file_are_taken_off() -> None:
    found = tokenizer(gpt2())
    found.backend_tokenizer.enable_truncation(2)
    found.backend_tokenizer.enable_padding(length=9)
    assert len(LineTokenizer(found).ids("a.b.c.d")) == 7


def test_long_lines_and_words() -> None:
    tokenizer, lines = known("smollm")
    for text in ("ab" * 5000, "ab " * 3000, "ab\n" * 3000):
        assert lines.ids(text) == lines.ids(text) == whole(tokenizer, text)
