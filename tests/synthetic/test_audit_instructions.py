"""The demands of instructions, read from the words of the instruction and checked by other code."""

import json
import re

import pytest

from assay.synthetic.kinds import KINDS
from assay.synthetic.stream import Plan, stream

ENGLISH = [kind.name for kind in KINDS.values() if kind.group == "instructions"]
COUNTED = ("words", "sentences", "paragraphs", "bullets", "numbered")


def checks(name: str, side: str, count: int = 200):
    """(criterion, text, met) of the first demand, in English."""
    plan = Plan(kinds=(KINDS[name],), side=side, seed=2, languages=("en",))
    for generated in stream(plan, 0, count):
        for candidate, findings in zip(generated.item.candidates, generated.findings, strict=True):
            yield generated.criteria[0].asks, candidate.text, findings[0].met, generated.item.question


def relation(asks: str, many: int) -> bool:
    found = re.search(r"(exactly|at least|at most) (\d+|once)", asks)
    assert found, asks
    n = 1 if found[2] == "once" else int(found[2])
    return {"exactly": many == n, "at least": many >= n, "at most": many <= n}[found[1]]


def count(name: str, text: str) -> int:
    if name == "words":
        return len([one for one in re.split(r"[^A-Za-z'-]+", text) if re.search("[A-Za-z]", one)])
    if name == "sentences":
        return len(re.findall(r"[.!?](?=\s|$|\"|P)", re.sub(r"\bP\.S\.", "PS", text)))
    if name == "paragraphs":
        return len([one for one in text.split("\n\n") if one.strip()])
    lines = text.split("\n")
    if name == "bullets":
        return sum(line.startswith("- ") for line in lines)
    return sum(re.match(r"\d+\. ", line) is not None for line in lines)


def kept(name: str, asks: str, text: str, question: str) -> bool:
    quoted = re.search(r'"([^"]+)"', asks)
    tokens = re.sub(r"[^a-z]+", " ", text.lower()).split()
    if name in COUNTED:
        return relation(asks, count(name, text))
    if name == "forbidden":
        return quoted[1] not in tokens
    if name == "keyword":
        return relation(asks, tokens.count(quoted[1]))
    if name == "letter":
        return quoted[1] not in text.lower()
    if name == "begin":
        return text.lower().startswith(quoted[1].lower())
    if name == "end":
        return text.lower().endswith(quoted[1].lower())
    if name == "postscript":
        return text.split("\n")[-1].startswith("P.S.")
    if name == "title":
        return text.startswith("<<") and ">>" in text.split("\n")[0]
    if name == "quoted":
        return len(text) > 1 and text.startswith('"') and text.endswith('"')
    if name == "lowercase":
        return not any(sign.isupper() for sign in text)
    if name == "uppercase":
        return not any(sign.islower() for sign in text)
    if name == "commas":
        return "," not in text
    if name == "highlight":
        return relation(asks, text.count("**") // 2)
    if name == "json":
        try:
            return sorted(json.loads(text)) == sorted(re.findall(r'"([^"]+)"', asks))
        except json.JSONDecodeError:
            return False
    lines = text.split("\n")
    falling = re.search("descending|falling|decreasing|reverse", asks) is not None
    entries = re.findall(r"\d+", question)
    if not entries:
        listed = re.search(r"[a-z]+(?:, [a-z]+){2,}", question)
        assert listed, question
        # "one a line" and "each on its own" may stand behind the last comma.
        entries = [entry for entry in listed[0].split(", ") if entry not in ("one", "each", "a", "line")]
        return lines == sorted(entries, reverse=falling)
    return lines == sorted(entries, key=int, reverse=falling)


@pytest.mark.parametrize("side", ["train", "held"])
@pytest.mark.parametrize("name", ENGLISH)
def test_checkers_agree_with_a_second_reading(name, side):
    seen = met_once = missed_once = 0
    for asks, text, met, question in checks(name, side):
        assert kept(name, asks, text, question) == met, (asks, text, question)
        seen += 1
        met_once += met
        missed_once += not met
    assert seen > 500
    assert met_once > 100
    assert missed_once > 100


def test_the_number_of_the_criterion_stands_in_the_instruction():
    for name in COUNTED:
        for asks, _, _, question in checks(name, "train", 40):
            assert re.search(r"\d+", asks)[0] in question


@pytest.mark.parametrize(
    "name", ["words", "sentences", "bullets", "numbered", "forbidden", "keyword", "begin", "end", "commas"]
)
def test_chinese_checkers_agree_with_a_second_reading(name):
    plan = Plan(kinds=(KINDS[name],), seed=4, languages=("zh",))
    for generated in stream(plan, 0, 150):
        asks = generated.criteria[0].asks
        number = re.search(r"(正好|至少|至多)(\d+)", asks)
        word = re.search(r"“(.+)”", asks)
        for candidate, findings in zip(generated.item.candidates, generated.findings, strict=True):
            text = candidate.text
            many = {
                "words": len([sign for sign in text if "\u4e00" <= sign <= "\u9fff"]),
                "sentences": len(re.findall("[。！？]", text)),
                "bullets": sum(line.startswith("- ") for line in text.split("\n")),
                "numbered": sum(re.match(r"\d+\. ", line) is not None for line in text.split("\n")),
                "keyword": text.count(word[1]) if word else 0,
            }.get(name)
            if many is not None:
                n = int(number[2])
                ours = {"正好": many == n, "至少": many >= n, "至多": many <= n}[number[1]]
            elif name == "commas":
                ours = "，" not in text and "," not in text
            else:
                w = word[1]
                ours = {"forbidden": w not in text, "begin": text.startswith(w), "end": text.endswith(w)}[name]
            assert ours == findings[0].met, (asks, text)
