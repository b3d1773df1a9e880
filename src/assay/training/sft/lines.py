"""Texts into token ids by their lines and words: a judge's instructions stand in every row, and are tokenized once.

Most tokenizers first cut a text into pieces with a regular expression, and then look at each piece alone. Where that
expression is known, so are line breaks and spaces at which it cuts whatever else the text holds. A text may be cut
there beforehand: its ids are those of its parts, one after the other. Under any other tokenizer a text goes whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, cast

Cut: TypeAlias = "Callable[[str], list[str]]"
"""Gives the parts of a text; joined, they are the text."""

_LINES, _WORDS = 2048, 16384
"""How many have their ids kept, those that came last: enough for the instructions of many judges."""
_LONGEST = 4096
"""Characters; what is longer is not kept, so that what is kept stays small."""

_START = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?"
_SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_TAKES_BREAKS = frozenset(
    {
        _START + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES,
        _START + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES,
        _START + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _SPACES,
    }
)
r"""The expressions of Llama 3, of Qwen 2 to 3, and of Qwen 3.5.

No piece goes over a line break to a character that is no space. The piece before does not depend on that character:
``[\r\n]*`` and ``\s*[\r\n]+`` take all breaks there are, and the second is tried before ``\s+(?!\S)``.
"""

# What Python calls a space holds all that Unicode does, and four characters more: at those there is no cut.
_BREAK_BEHIND_TEXT = re.compile(r"\n(?<=\S\n)")
_BREAK_BEFORE_TEXT = re.compile(r"\n(?=\S)")
_SPACE_BEHIND_TEXT = re.compile(r" (?<=\S )")


def known_lines(tokenizer: Any) -> Cut | None:
    """How lines may be cut for a tokenizer of ``tokenizers``, and their words by ``words``; None: a text goes whole."""
    from tokenizers.models import BPE

    backend = tokenizer.backend_tokenizer
    if not isinstance(backend.model, BPE) or backend.model.dropout or backend.pre_tokenizer is None:
        return None
    normal = None if backend.normalizer is None else _state(backend.normalizer)["type"]
    # Unicode's NFC never joins a space or a line break with what stands beside it.
    if normal not in (None, "NFC"):
        return None
    for token in backend.get_added_tokens_decoder().values():
        if token.lstrip or token.rstrip or token.single_word or re.search(r"\s", token.content):
            return None
    match _steps(_state(backend.pre_tokenizer)):
        case [*digits, {"type": "ByteLevel", "use_regex": True, "add_prefix_space": False}]:
            return lines_before_breaks if all(step["type"] == "Digits" for step in digits) else None
        case [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "use_regex": False, "add_prefix_space": False},
        ]:
            return lines_behind_breaks if pattern in _TAKES_BREAKS else None
        case _:
            return None


def lines_before_breaks(text: str) -> list[str]:
    """Cut before each line break behind a character that is no space.

    GPT-2's expression (``ByteLevel`` with ``use_regex``) has all spaces but one in pieces of their own, and looks ahead
    only from there, by one character. Digits that are cut off first change nothing about it.
    """
    first, *others = _BREAK_BEHIND_TEXT.split(text)
    return [first, *["\n" + line for line in others]]


def lines_behind_breaks(text: str) -> list[str]:
    """Cut behind each line break before a character that is no space: see ``_TAKES_BREAKS``."""
    *others, last = _BREAK_BEFORE_TEXT.split(text)
    return [*[line + "\n" for line in others], last]


def words(line: str) -> list[str]:
    """Cut before each space behind a character that is no space: all expressions known here begin a piece there."""
    first, *others = _SPACE_BEHIND_TEXT.split(line)
    return [first, *[" " + word for word in others]]


class LineTokenizer:
    """Gives what ``tokenizer(text, add_special_tokens=False)`` gives. Used from one thread."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._lines = known_lines(tokenizer) if _plain(tokenizer) else None
        if self._lines is not None:
            # Takes off, for good, the truncation and the padding that the tokenizer's file may ask for.
            tokenizer("", add_special_tokens=False)
        self._kept_line = lru_cache(_LINES)(self._line)
        self._kept_word = lru_cache(_WORDS)(self._word)

    def ids(self, text: str) -> tuple[int, ...]:
        """The token ids of a text."""
        if self._lines is None:
            return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        found: list[int] = []
        for line in self._lines(text):
            found += self._kept_line(line) if len(line) <= _LONGEST else self._line(line)
        return tuple(found)

    def _line(self, line: str) -> list[int]:
        found: list[int] = []
        for word in words(line):
            found += self._kept_word(word) if len(word) <= _LONGEST else self._word(word)
        return found

    def _word(self, word: str) -> list[int]:
        return cast("list[int]", self._tokenizer.backend_tokenizer.encode(word, add_special_tokens=False).ids)


def _plain(tokenizer: Any) -> bool:
    """Whether a call of it is a call of its backend, with no Python code of a subclass between."""
    from transformers import PreTrainedTokenizerFast

    plain: Any = PreTrainedTokenizerFast
    own = type(tokenizer)
    if not isinstance(tokenizer, plain):
        return False
    return own.__call__ is plain.__call__ and own._encode_plus is plain._encode_plus


def _steps(state: dict[str, Any]) -> list[dict[str, Any]]:
    return state["pretokenizers"] if state["type"] == "Sequence" else [state]


def _state(part: Any) -> dict[str, Any]:
    """What a tokenizer's file says of a part of it."""
    return json.loads(part.__getstate__())
