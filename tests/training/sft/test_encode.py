from __future__ import annotations

from typing import Any

import pytest
from transformers import AutoTokenizer

from assay.core.errors import InputError
from assay.training.sft.encode import Encoder
from assay.training.sft.rows import read_row

from ..words import END, save_words


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return AutoTokenizer.from_pretrained(save_words(tmp_path_factory.mktemp("m"), ["a", "b", "c", "d", "e", "f"]))


def encoded(tokenizer: Any, row: dict[str, Any], **options: Any) -> list[tuple[str, int]]:
    """The tokens of a row, each with 1 where it is learned."""
    found = Encoder(tokenizer, vocabulary=11, ends=(END,), **options).encode(read_row(row, "row"))
    assert len(found.ids) == found.prompt + len(found.mask)
    words = tokenizer.convert_ids_to_tokens(list(found.ids))
    return list(zip(words, [0] * found.prompt + list(found.mask), strict=True))


def learned(text: str) -> list[tuple[str, int]]:
    """``word`` or ``+word``, the latter learned."""
    return [(word.removeprefix("+"), int(word.startswith("+"))) for word in text.split()]


def turns(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def test_the_answer_and_the_token_that_ends_it_are_learned(tokenizer: Any) -> None:
    wanted = learned("<user> a b <end> <assistant> +c +d +<end>")
    assert encoded(tokenizer, {"prompt": "a b", "completion": "c d"}) == wanted
    assert encoded(tokenizer, {"messages": turns("a b", "c d")}) == wanted


def test_a_text_as_it_stands_is_ended(tokenizer: Any) -> None:
    row = {"prompt": "a b", "completion": "c d"}
    assert encoded(tokenizer, row, apply_chat_template=False) == learned("a b +c +d +<end>")
    assert encoded(tokenizer, row | {"completion": "c <end>"}, apply_chat_template=False) == learned("a b +c +<end>")


def test_the_last_turn_or_all_of_the_assistants(tokenizer: Any) -> None:
    row = {"messages": turns("a", "b", "c", "d")}
    shown = "<user> a <end> <assistant> {}b {}<end> <user> c <end> <assistant> +d +<end>"
    assert encoded(tokenizer, row) == learned(shown.format("", ""))
    assert encoded(tokenizer, row, train_on="all") == learned(shown.format("+", "+"))


def test_a_template_that_changes_what_was_said_is_refused(tokenizer: Any) -> None:
    changing = AutoTokenizer.from_pretrained(tokenizer.name_or_path)
    changing.chat_template = "{{ messages | length }} {% for m in messages %}{{ m['content'] }} {% endfor %}"
    with pytest.raises(InputError, match="row: the chat template renders a conversation in another way"):
        encoded(changing, {"prompt": "a", "completion": "b"})
    changing.chat_template = None
    with pytest.raises(InputError, match="no chat template: give text prompts and --no-apply-chat-template"):
        encoded(changing, {"prompt": "a", "completion": "b"})


def test_ids_outside_the_model_are_refused(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="token id 10 is outside the model's 9"):
        Encoder(tokenizer, vocabulary=9, ends=(END,)).encode(read_row({"prompt": "a", "completion": "f"}, "row"))
