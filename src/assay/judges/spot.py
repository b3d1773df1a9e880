"""Where in a completion's tokens its label stands, and how probable each label was at that place.

Needed where a thinking block comes before the label, so that it cannot be asked for as a choice. A place read one token
too early or too late looks like a result; so the place is found by matching the tokens with the text, and what is read
there has to have enough mass (``choices.enough``).

Which token was sampled follows from the ids; some engines give none, then the likeliest way of writing the end of the
text is taken. White space and control tokens are silent: engines strip them or not. Pure, and bounded by ``LOOK``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from assay.core.types import Completion, TokenLogprob

from .choices import Weighed

LOOK = 8
"""How many tokens before the end of a completion its label may begin."""

_CONTROL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:bos|eos|pad|end_of_turn|start_of_turn)>|\[(?:EOS|BOS)\]")


def label_place(completion: Completion, label: str) -> int | None:
    """The index of the token with which ``label``, the end of the completion's text, begins; None if it is not found.

    Not found: no alternatives, a text that does not end in the label, or tokens that do not write it.
    """
    text, last = _squeezed(completion.text), len(completion.top_logprobs or ()) - 1
    start = len(text) - len(_squeezed(label))
    if not label.strip() or not text.endswith(_squeezed(label)):
        return None
    found: tuple[float, int] | None = None
    ends = {len(text): 0.0}
    for place in range(last, max(last - LOOK, -1), -1):
        earlier: dict[int, float] = {}
        for end, so_far in ends.items():
            for token, begin in _fitting(completion, place, text, end):
                total = so_far + token.logprob
                if begin > start or begin == end:
                    earlier[begin] = max(total, earlier.get(begin, -math.inf))
                elif begin == start and (before := _before(completion, place - 1, text, start)) is not None:
                    found = max(found or (-math.inf, -1), (total + before, place))
        ends = earlier
    return None if found is None or found[1] < 0 else found[1]


def weigh_place(alternatives: Sequence[TokenLogprob], labels: Collection[str]) -> tuple[Weighed, bool]:
    """How probable the labels are by the tokens that begin them, and whether a label is not among the alternatives.

    Such a label is at most as probable as the last alternative: that bound stands for it, and the mass does not count
    it. A token that begins several labels is nobody's.
    """
    bare = [_squeezed(label) for label in labels]
    values: list[list[float]] = [[] for _ in bare]
    for token in alternatives:
        begun = [place for place, label in enumerate(bare) if (text := _visible(token)) and label.startswith(text)]
        if len(begun) == 1:
            values[begun[0]].append(token.logprob)
    bound = min((token.logprob for token in alternatives), default=-math.inf)
    logprobs = tuple(_log_sum(own) if own else bound for own in values)
    mass = math.fsum(math.exp(value) for value, own in zip(logprobs, values, strict=True) if own)
    return Weighed(logprobs, mass), not all(values)


def _fitting(completion: Completion, place: int, text: str, end: int) -> list[tuple[TokenLogprob, int]]:
    """The tokens that may stand at ``place`` and fit before ``end``, each with where it begins in ``text``."""
    return [
        (token, end - len(visible))
        for token in _sampled(completion, place)
        if text.endswith(visible := _visible(token), 0, end)
    ]


def _before(completion: Completion, place: int, text: str, end: int) -> float | None:
    """How likely the token before the label is; None if no token fits there, so that the label stands elsewhere."""
    if place < 0:
        return 0.0
    sampled = _sampled(completion, place)
    if not sampled:
        return 0.0  # it was none of the likeliest, so what it says is not known
    return max((token.logprob for token, _ in _fitting(completion, place, text, end)), default=None)


def _sampled(completion: Completion, place: int) -> list[TokenLogprob]:
    """The alternatives that may be the sampled one: the one with its id, or all where ids are not told."""
    alternatives = (completion.top_logprobs or ())[place]
    if len(completion.token_ids) != len(completion.top_logprobs or ()):
        return list(alternatives)
    return [token for token in alternatives if token.token_id in (completion.token_ids[place], -1)]


def _visible(token: TokenLogprob) -> str:
    return "" if _CONTROL.fullmatch(token.text.strip()) else _squeezed(token.text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _log_sum(values: Sequence[float]) -> float:
    best = max(values)
    return best if best == -math.inf else best + math.log(math.fsum(math.exp(value - best) for value in values))
