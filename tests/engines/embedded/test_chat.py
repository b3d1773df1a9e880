from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Message, TokenPrompt
from assay.engines.embedded.chat import Renderer

from .conftest import CHATML, chat, tokenizer

THINKING = CHATML.replace(
    "{{ '<|s|>assistant\\n' }}",
    "{{ '<|s|>assistant\\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\\n\\n</think>\\n\\n' }}"
    "{% else %}{{ '<think>\\n' }}{% endif %}",
)


def renderer(template: str | None = CHATML) -> Renderer:
    made = tokenizer(template)
    return Renderer(made, len(made))


def text_of(r: Renderer, ids: tuple[int, ...]) -> str:
    return "".join(r.token_text(i) for i in ids)


def test_a_sane_template_raises_no_warning_and_renders_as_written() -> None:
    r = renderer()
    assert r.warnings == ()
    assert text_of(r, r.ids(chat("Hi"), {})) == "<|s|>user\nHi<|e|>\n<|s|>assistant\n"


def test_text_parts_are_joined() -> None:
    r = renderer()
    parts = ({"type": "text", "text": "one "}, {"type": "text", "text": "two"})
    assert r.ids(ChatPrompt(messages=(Message(role="user", content=parts),)), {}) == r.ids(chat("one two"), {})


def test_doubled_bos_is_reported_and_sent_once() -> None:
    r = renderer("{{ bos_token }}" + CHATML)
    assert any("BOS twice" in w for w in r.warnings)
    assert r.ids(chat("Hi"), {}) == renderer().ids(chat("Hi"), {})


def test_a_token_prompt_is_taken_as_it_is_doubled_bos_included() -> None:
    assert renderer().ids(TokenPrompt(token_ids=(264, 264, 5)), {}) == (264, 264, 5)


def test_a_prefilled_think_is_reported_a_closed_one_is_not() -> None:
    r = renderer(THINKING)
    assert any("<think>" in w for w in r.warnings)
    assert text_of(r, r.ids(chat("Hi"), {})).endswith("<think>\n")
    assert text_of(r, r.ids(chat("Hi"), {"enable_thinking": False})).endswith("</think>\n\n")
    assert renderer(THINKING.replace("is defined and not enable_thinking", "is not defined")).warnings == ()


def test_without_a_template_only_tokens_are_taken() -> None:
    r = renderer(None)
    assert not r.has_template
    assert r.warnings
    with pytest.raises(GenerationError, match="no chat template") as caught:
        r.ids(chat("Hi"), {})
    assert caught.value.kind is FailureKind.BAD_REQUEST
    assert r.ids(TokenPrompt(token_ids=(1, 2)), {}) == (1, 2)


def test_what_the_template_refuses_is_told_with_the_roles() -> None:
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + CHATML
    prompt = ChatPrompt(messages=(Message(role="system", content="x"), Message(role="user", content="y")))
    with pytest.raises(GenerationError, match=r"\['system', 'user'\].*no system turn"):
        renderer(strict).ids(prompt, {})


def test_a_template_that_needs_what_it_is_not_given_is_a_warning_not_a_crash() -> None:
    assert "no greeting" in renderer("{{ raise_exception('no greeting') }}").warnings[0]


def test_a_tokenizer_that_adds_bos_where_the_template_does_not_is_reported() -> None:
    from tokenizers import processors

    made: Any = tokenizer("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|s|> $A", special_tokens=[("<|s|>", 264)]
    )
    assert any("the template does not" in w for w in Renderer(made, len(made)).warnings)


def test_reply_ids_are_those_behind_a_generation_prompt() -> None:
    r = renderer()
    assert text_of(r, r.reply_ids("the end")) == "the end"
    assert r.reply_ids("") == ()
    # A line break would merge with the one before it in some tokenizers; the text is kept either way.
    assert text_of(r, r.reply_ids("\nthe")) == "\nthe"


def test_special_tokens_leave_no_trace_in_a_reply() -> None:
    r = renderer()
    ids = [*r.reply_ids("done"), 265]
    assert r.decode(ids) == "done"
