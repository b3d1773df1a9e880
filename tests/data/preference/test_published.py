import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assay.core.errors import InputError
from assay.core.types import Item
from assay.data import BadRecord, FieldMap
from assay.data.preference import SETS, preference_items

PANDALM = Path(__file__).parents[3] / "../shared/data/pandalm/testset-v1.json"
CHAT = [{"role": "user", "content": "q"}]


def said(text):
    return [*CHAT, {"role": "assistant", "content": text}]


ROWS = {
    "helpsteer2": {"split": "train", "prompt": "q", "response_1": "a", "response_2": "b", "preference_strength": -2},
    "helpsteer3": {
        "domain": "code",
        "language": "python",
        "context": CHAT,
        "response1": "a",
        "response2": "b",
        "overall_preference": 3,
    },
    "ultrafeedback": {
        "source": "flan",
        "instruction": "q",
        "completions": [
            {"model": "m", "response": "a", "overall_score": 7.5},
            {"model": "n", "response": "b", "overall_score": 9},
            {"model": "o", "response": "c", "overall_score": None},
        ],
    },
    "skywork": {"chosen": said("a"), "rejected": said("b"), "source": "magpie"},
    "offsetbias": {"instruction": "q", "output_1": "a", "output_2": "b", "label": 2},
    "hh": {"chosen": "\n\nHuman: q\n\nAssistant: a", "rejected": "\n\nHuman: q\n\nAssistant: b"},
    "pandalm": {
        "instruction": "q",
        "input": "x",
        "response1": "a",
        "response2": "b",
        "annotator1": 1,
        "annotator2": 0,
        "annotator3": 1,
    },
}
GOLD = {
    "helpsteer2": (1, 0),
    "helpsteer3": (0, 1),
    "ultrafeedback": (7.5, 9),
    "skywork": (1, 0),
    "offsetbias": (0, 1),
    "hh": (1, 0),
    "pandalm": (1, 0),
}


@pytest.mark.parametrize("name", SETS)
def test_a_row_as_published_is_an_item(name):
    item = SETS[name].read(ROWS[name], "7")
    assert item.id == f"{name}-7"
    assert item.question == ("q\n\nx" if name == "pandalm" else "q")
    assert [candidate.text for candidate in item.candidates] == ["a", "b"]
    assert item.gold == GOLD[name]
    assert item.metadata["source"] == name


def test_strength_domain_and_authors_are_kept():
    assert SETS["helpsteer2"].read(ROWS["helpsteer2"], "1").metadata["strength"] == 2
    assert SETS["helpsteer3"].read(ROWS["helpsteer3"], "1").metadata["domain"] == "code"
    assert [one.author for one in SETS["ultrafeedback"].read(ROWS["ultrafeedback"], "1").candidates] == ["m", "n"]
    tied = {**ROWS["helpsteer2"], "preference_strength": 0}
    assert SETS["helpsteer2"].read(tied, "1").gold == (0.5, 0.5)


def test_hh_keeps_the_conversation_before_the_last_turn():
    text = "\n\nHuman: q\n\nAssistant: r\n\nHuman: s\n\nAssistant: {}"
    item = SETS["hh"].read({"chosen": text.format("a"), "rejected": text.format("b")}, "1")
    assert [(one.role, one.text) for one in item.messages] == [("user", "q"), ("assistant", "r"), ("user", "s")]


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("helpsteer2", {"preference_strength": None}, "'preference_strength': gold must be"),
        ("offsetbias", {"label": 3}, "'label' must be 1 or 2, not 3"),
        ("ultrafeedback", {"completions": []}, "0 of its completions"),
        ("skywork", {"rejected": [{"role": "user", "content": "other"}, *said("b")[1:]]}, "do not continue the same"),
        ("hh", {"rejected": "\n\nHuman: p\n\nAssistant: b"}, "part before the last turn"),
        ("hh", {"rejected": "hello"}, "no conversation that ends with the assistant"),
        ("pandalm", {"annotator1": 4}, "must say 0, 1 or 2"),
        ("pandalm", {"instruction": 3}, "'instruction' must be a text"),
    ],
)
def test_a_row_that_is_none_says_why(tmp_path, name, change, reason):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROWS[name], **change}) + "\n" + json.dumps(ROWS[name]) + "\n")
    bad, good = preference_items(f"{name}={path}")
    assert isinstance(bad, BadRecord)
    assert bad.line == 1
    assert reason in bad.reason
    assert isinstance(good, Item)


def test_sets_are_fetched_by_their_hub_names(monkeypatch):
    calls = []

    def load_dataset(name, config, *, split, revision, streaming, **more):
        calls.append((name, config, split, more))
        return [ROWS[next(key for key, one in SETS.items() if one.hub.startswith(name))]]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    for name in SETS:
        if name != "pandalm":
            (item,) = preference_items(name)
            assert item.id == f"{name}-1"
    assert calls == [
        ("nvidia/HelpSteer2", None, "train", {"data_dir": "preference"}),
        ("nvidia/HelpSteer3", "preference", "train", {}),
        ("openbmb/UltraFeedback", None, "train", {}),
        ("Skywork/Skywork-Reward-Preference-80K-v0.2", None, "train", {}),
        ("NCSOFT/offsetbias", None, "train", {}),
        ("Anthropic/hh-rlhf", None, "train", {}),
    ]


def test_what_is_not_on_the_hub_needs_a_file():
    with pytest.raises(InputError, match="say pandalm=FILE"):
        preference_items("pandalm")


def test_files_of_ones_own_are_read_like_any_other(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"q": "x", "good": "a", "bad": ["b", "c"]}) + "\n")
    fields = FieldMap(prompt="q", chosen=("good",), rejected=("bad",))
    (item,) = preference_items(str(path), fields)
    assert item.gold == (1, 0, 0)
    with pytest.raises(InputError, match="fields of the published set 'hh' are known"):
        preference_items("hh", fields)


@pytest.mark.skipif(not PANDALM.exists(), reason="needs the PandaLM test set")
def test_pandalm_as_published():
    items = list(preference_items(f"pandalm={PANDALM}"))
    assert len(items) == 999
    assert all(isinstance(item, Item) for item in items)
    # Majority labels of the file, counted by hand from its three columns.
    rows = json.loads(PANDALM.read_text())
    for item, row in zip(items, rows, strict=True):
        labels = [row[f"annotator{at}"] for at in (1, 2, 3)]
        if labels.count(1) >= 2:
            assert item.gold == (1, 0)
        elif labels.count(2) >= 2:
            assert item.gold == (0, 1)
        else:
            assert item.gold == (0.5, 0.5)
