from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from assay.core.errors import InputError
from assay.training.sft.encode import Encoder
from assay.training.sft.rows import read_row

from ..words import END, save_words
from .bytelevel import CHATML, QWEN, WholeTexts, gpt2, split
from .bytelevel import tokenizer as tokenizer_of


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


BEHIND = CHATML.replace("<end>\n", "<end>\n[that was all]\n\n")
TWICE = "<s><s>" + CHATML
CONTENT = st.lists(
    st.sampled_from(["a", "The answer", " is", "\n", "\n\n", " ", "12", "。", "答案", "<end>", "]]", "it's"]),
    max_size=8,
).map("".join)
TURNS = st.lists(CONTENT, min_size=1, max_size=5).filter(lambda texts: bool(texts[-1].strip()))


@cache
def pair(cuts: str, template: str, **options: Any) -> tuple[Encoder, Encoder]:
    """An encoder that cuts texts, and one that does not."""
    made = [
        tokenizer_of(gpt2() if cuts == "gpt2" else split(QWEN), own=own, template=template)
        for own in (PreTrainedTokenizerFast, WholeTexts)
    ]
    ends = (made[0].eos_token_id,)
    one, other = (Encoder(tokenizer, vocabulary=len(tokenizer), ends=ends, **options) for tokenizer in made)
    return one, other


def outcome(encoder: Encoder, row: dict[str, Any]) -> Any:
    try:
        return encoder.encode(read_row(row, "row"))
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("cuts", ["gpt2", "qwen"])
@pytest.mark.parametrize("template", [CHATML, BEHIND, TWICE, "{{ messages | length }}" + CHATML])
@given(texts=TURNS, weight=st.sampled_from([1, 0.5]))
def test_rows_are_encoded_as_they_are_from_whole_texts(
    cuts: str, template: str, texts: list[str], weight: float
) -> None:
    row = {"messages": turns("a question", *texts) if len(texts) % 2 else turns(*texts), "weight": weight}
    for options in ({}, {"train_on": "all"}):
        one, other = pair(cuts, template, **options)
        assert outcome(one, row) == outcome(other, row)
    one, other = pair(cuts, template, apply_chat_template=False)
    row = {"prompt": "".join(texts), "completion": texts[-1], "weight": weight}
    assert outcome(one, row) == outcome(other, row)
