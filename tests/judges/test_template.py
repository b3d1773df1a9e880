import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Item, Message
from assay.judges.template import conversation, fill, load_prompt, placeholders

FORMS = ["verifier", *(f"pointwise.{form}" for form in ("multi", "single", "binary", "criteria", "reference"))]


def test_filling_is_one_pass():
    assert fill("{a} and {b}", {"a": "{b}", "b": "{a}"}) == "{b} and {a}"


@given(st.text(), st.text())
def test_what_is_put_in_is_never_looked_at(first, second):
    assert fill("<{a}|{b}>", {"a": first, "b": second}) == f"<{first}|{second}>"


def test_braces_of_latex_and_json_are_no_placeholders():
    template = r'\boxed{x} \text{reference} {"score": 1} {x, y} { a } 问题{question}'
    assert placeholders(template) == ("question",)
    assert fill(template, {"question": "Q"}) == template.replace("{question}", "Q")


def test_a_missing_value_is_an_error_not_an_empty_text():
    with pytest.raises(KeyError):
        fill("{a}", {})


@pytest.mark.parametrize("form", FORMS)
def test_both_languages_of_a_prompt_have_the_same_placeholders(form):
    english, chinese = load_prompt(form, "en"), load_prompt(form, "zh")
    assert sorted(placeholders(english)) == sorted(placeholders(chinese))
    assert english.isascii()
    assert any("\u4e00" <= c <= "\u9fff" for c in chinese)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_varies_comes_after_the_instructions(language):
    for form in FORMS[1:4]:
        prompt = load_prompt(form, language)
        assert prompt.index("{conversation}") > len(prompt) * 0.4
        assert prompt.index("{conversation}") < prompt.index("{reference}") < prompt.index("{candidates}")


def test_a_picture_is_refused_not_left_out():
    parts = ({"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}})
    item = Item(id="i7", messages=(Message(role="user", content=parts),), candidates=())
    with pytest.raises(InputError, match=r"'i7'.*messages\[0\].*'image_url'"):
        conversation(item)


def test_a_conversation_without_turns_is_refused():
    with pytest.raises(InputError, match="'i8' has no messages"):
        conversation(Item(id="i8", messages=(), candidates=()))
