"""The token that a reward model pads with. Pure but for the tokenizer.

Transformers finds the end of a text as its last token that is not padding. So where a text ends in the very token that
the tokenizer pads with (often that which ends a turn), its logit would be read one token early.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from assay.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """The padding of a model, and its tokenizer with that set: on the right."""

    tokenizer: Any
    token_id: int


def choose_padding(tokenizer: Any, last_tokens: Collection[int], vocabulary: int) -> Padding:
    """The tokenizer's own padding token, or a special token of it that no text ends in.

    Args:
        last_tokens: those that the texts end in.
        vocabulary: ids that the model has.

    Raises:
        InputError: there is none.
    """
    ends = set(last_tokens)
    named = [tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id]
    added = sorted(token for token, one in tokenizer.added_tokens_decoder.items() if one.special)
    fit = [token for token in (*named, *added) if token is not None and token < vocabulary and token not in ends]
    if not fit:
        raise InputError(
            f"the tokenizer has no token to pad with: its pad_token is {tokenizer.pad_token!r}, texts end in "
            f"{sorted(ends)[:5]}, and no other special token is there; add one, such as '<pad>', to its files and to "
            "the model's embedding"
        )
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(fit[0])
    tokenizer.padding_side = "right"
    return Padding(tokenizer=tokenizer, token_id=fit[0])
