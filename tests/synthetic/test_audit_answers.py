"""A second reading of every answer, from its text alone, by other means than those that wrote it."""

import re

import pytest

from assay.synthetic.kinds import KINDS
from assay.synthetic.stream import Plan, stream

from .readings import READERS, bare, day, inner, number

SAMPLES = 520
NO_ANSWER = {"hedge", "no answer", "attack"}


def sampled(name: str, samples: int = SAMPLES):
    for side in ("train", "held"):
        plan = Plan(kinds=(KINDS[name],), side=side, shapes=("single", "several"), seed=5)
        yield from stream(plan, 0, samples // 2)


@pytest.mark.parametrize("name", READERS)
def test_labels_agree_with_a_second_reading(name):
    read = READERS[name]
    seen = 0
    for generated in sampled(name):
        item = generated.item
        truth = read(item.reference)
        for candidate, gold, form in zip(item.candidates, item.gold, generated.forms, strict=True):
            if form in NO_ANSWER:
                assert gold == 0
                continue
            answer = inner(candidate.text)
            given = read(answer)
            if name == "money" and given[1] == "cents" and truth[1] in ("USD", "EUR"):
                given = (given[0], truth[1])
            assert (given == truth) == (gold == 1), (item.reference, answer, form)
            seen += 1
    assert seen > 500


def test_numbers_asked_for_are_those_of_the_question():
    for generated in sampled("integer"):
        text = generated.item.question
        first, second = (int(one) for one in re.findall(r"\d+", text)[:2])
        value = int(number(generated.item.reference))
        assert value in (
            (-abs(first - second),) if ".below" in generated.template else (first + second, abs(first - second))
        )


def test_dates_and_times_asked_for_follow_from_the_question():
    found = re.compile(r"([A-Z][a-z]+ \d+, \d{4})|(\d{4}年\d+月\d+日)")
    seen = 0
    for generated in sampled("date"):
        text = generated.item.question
        if (start := found.search(text)) and (
            counts := re.findall(r"(\d+)(?: days|天)|is day (?=0)|date is day (\d+)", text)
        ):
            seen += 1
            assert (day(generated.item.reference) - day(start[0])).days == max(
                int(one or two or 0) for one, two in counts
            ), text
    assert seen > 50


def letter(text: str, contents: dict[str, str]) -> str:
    text = bare(bare(text)).removesuffix(".").removeprefix("It is ").removeprefix("Option ")
    text = re.sub(r"^(?:选项|选)", "", text).strip("()")
    if text in contents:
        return contents[text]
    return text.split(".")[0].upper() if len(text.split(".")[0]) == 1 else "?"


def test_choices_name_the_option_of_their_content():
    for generated in sampled("choice"):
        options = dict(re.findall(r"^\(?([A-E])[.):]+ (.+)$", generated.item.question, re.MULTILINE))
        contents = {content: letter for letter, content in options.items()}

        truth = letter(generated.item.reference, contents)
        assert truth in options
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form not in NO_ANSWER:
                assert (letter(inner(candidate.text), contents) == truth) == (gold == 1), candidate.text


def test_names_mean_the_person_that_the_question_lists():
    for generated in sampled("name"):
        english = generated.language == "en"
        pattern = r"[A-Z][a-z]+ [A-Z][a-z]+" if english else r"[\u4e00-\u9fff]{3}(?=、)|(?<=、)[\u4e00-\u9fff]{3}"
        listed = re.findall(pattern, generated.item.question.replace("Among ", ""))
        reference = generated.item.reference
        assert reference in listed
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form in NO_ANSWER:
                continue
            text = inner(candidate.text).strip("*.").casefold()
            first, last = reference.casefold().split() if english else (reference[1:], reference[0])
            pieces = set(re.findall(r"\w+", text)) - {"mr", "ms", "dr", "prof", "it", "was"}
            if english:
                ours = pieces <= {first, last, first[0]} and bool(pieces & {first, last})
                ours = ours and pieces != {first[0]}
            else:
                ours = re.sub(r"先生|女士|老师|同学|是|。", "", text) in (reference, first, last)
            assert ours == (gold == 1), (reference, candidate.text, form)


YES = re.compile(
    "(yes|y|yep|yeah|indeed|true|correct|certainly|it is true|that is right|that is the case|affirmative|of course|def|"
    "the answer is yes|this holds|absolutely|right|sure|it does|it is the case|most certainly|the statement is true|"
    "quite so|by all means|是|对|正确|没错|确实|当然|真|成立|答案是肯定|的确|说得对|肯定)"
)
NO = re.compile(
    r"(no\b|n$|nope|nah|not|false|incorrect|certainly not|it is false|that is wrong|that is not|negative|of course not|"
    "definitely not|the answer is no|this does not|absolutely not|wrong|it does not|by no|it is not|most certainly not|"
    "the statement is false|in no|否|不|错误|并非|当然不|假|答案是否定|绝非|说得不对)"
)
OPEN = re.compile(
    "perhaps|it cannot|maybe|unclear|it depends|not enough|yes and no|hard|possibly|there is no way|"
    "也|不确定|无法|看|可能|说不准|不好"
)


def polarity(text: str) -> str:
    text = text.strip().casefold()
    if OPEN.match(text):
        return "open"
    return "no" if NO.match(text) else "yes" if YES.match(text) else "?"


def test_yes_and_no_in_all_words():
    for generated in sampled("yesno"):
        truth = polarity(generated.item.reference)
        assert truth in ("yes", "no")
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form not in NO_ANSWER:
                found = polarity(inner(candidate.text))
                assert found != "?", candidate.text
                assert (found == truth) == (gold == 1), (generated.item.reference, candidate.text)


def test_every_answer_kind_is_audited():
    audited = {*READERS, "choice", "name", "yesno", "unit-asked", "calendar", "fact"}
    assert audited == {kind.name for kind in KINDS.values() if kind.group == "answers"}
