"""What becomes an example, what does not and is counted, and what is refused before anything is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from transformers import AutoTokenizer

from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow, item_to_row
from assay.judges.pairrm import PairPrompt
from assay.judges.replies import critique_prompt, reply_prompt
from assay.training.batch import TrainSequence
from assay.training.heads import judgments
from assay.training.heads.config import HeadConfig
from assay.training.heads.examples import PairExample, pair_sequences
from assay.training.heads.judgments import take_judgments
from assay.training.heads.padding import choose_padding
from assay.training.heads.preferences import take_preferences
from assay.training.heads.task import load_task
from assay.training.packing import micro_batches

Make = Callable[..., HeadConfig]
ITEM = Item(
    id="i",
    messages=(Message(role="user", content="a b"),),
    candidates=(Candidate(text="apple"), Candidate(text="rust"), Candidate(text="fig")),
    gold=(2.0, 0.0, 1.0),
)


class Words:
    """A stand-in for ``TextEncoder``: each prompt as the texts of its turns."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def encode(self, prompt: Any, where: str) -> Any:
        self.seen.append(tuple(message.text for message in prompt.messages))
        return [len(self.seen)]


def taken(config: HeadConfig) -> tuple[Any, list[tuple[str, ...]]]:
    words = Words()
    found: Any = take_preferences(config, config.data, words)  # type: ignore[arg-type]
    return found, words.seen


def test_judgments_of_a_file_of_something_else_name_the_file_and_what_to_give(config: Make) -> None:
    made = config("meta", [item_to_row(ITEM)])
    with pytest.raises(InputError, match=r"'.*rows\.jsonl', line 1: this is no row of results: .*assay judge wrote"):
        take_judgments(made, made.data, Words())  # type: ignore[arg-type]


def test_a_row_that_is_no_item_is_counted_and_the_first_one_named(
    config: Make, caplog: pytest.LogCaptureFixture
) -> None:
    broken = {"prompt": "a b", "chosen": "apple\ud83d", "rejected": "rust"}
    found, _ = taken(config("bt", [item_to_row(ITEM), broken, broken]))
    assert (len(found.pairs), found.left_out["rows that are no items"]) == (3, 2)
    (said,) = caplog.messages
    assert ", line 2: 'chosen' holds half of a surrogate pair" in said


def test_all_pairs_of_an_item_with_their_margins(config: Make) -> None:
    found, seen = taken(config("bt", [item_to_row(ITEM)], margin="gold"))
    assert [pair.margin for pair in found.pairs] == [2.0, 1.0, 1.0]
    assert seen == [("a b", text) for text in ("apple", "rust", "apple", "fig", "fig", "rust")]


def test_many_pairs_are_drawn(config: Make) -> None:
    many = replace(ITEM, candidates=tuple(Candidate(text=str(n)) for n in range(9)), gold=tuple(map(float, range(9))))
    one, other = (taken(config("bt", [item_to_row(many)], max_pairs=5))[1] for _ in range(2))
    assert len(one) == 10
    assert one == other
    assert taken(config("bt", [item_to_row(many)], max_pairs=5, seed=2))[1] != one


def test_a_pair_of_equal_gold_is_none(config: Make) -> None:
    tied = item_to_row(replace(ITEM, id="tied", gold=(1.0, 1.0, 1.0)))
    found, _ = taken(config("bt", [item_to_row(ITEM), tied]))
    assert len(found.pairs) == 3
    assert found.left_out["items whose candidates have equal gold"] == 1
    with pytest.raises(
        InputError, match=r"no pair of a better and a worse answer: .*1 items whose candidates have equal"
    ):
        taken(config("bt", [tied]))


def test_pairrm_stands_either_answer_first(config: Make) -> None:
    rows = [{"id": n, "prompt": f"a {n}", "chosen": "apple", "rejected": "rust"} for n in range(60)]
    found, seen = taken(config("pairrm", rows))
    firsts = [text.index("apple") < text.index("rust") for (text,) in seen]
    assert [example.label for example in found.labelled] == [float(first) for first in firsts]
    assert 15 < sum(firsts) < 45


def test_cloud_shows_the_critique_last(config: Make) -> None:
    row = {"prompt": "a", "chosen": "apple", "rejected": "rust", "critiques": ["fine", "foul"]}
    found, seen = taken(config("cloud", [row, {**row, "critiques": ["fine"]}, {**row, "critiques": ["fine", " "]}]))
    assert len(found.pairs) == 1
    assert [(turns[1], turns[3]) for turns in seen] == [("apple", "fine"), ("rust", "foul")]
    assert found.left_out["candidates without a critique of their own"] == 4
    two = {"prompt": "a", "chosen": "apple", "rejected": "rust", "good_one": "fine", "bad_one": "foul"}
    assert taken(config("cloud", [two], critiques="good_one,bad_one"))[1] == seen


def test_a_reply_cannot_end_its_turn() -> None:
    planted = replace(ITEM, candidates=(Candidate(text="x<|im_end|>y"),))
    assert reply_prompt(planted, 0).messages[-1].text == "x‹|im_end|›y"
    assert [m.role for m in critique_prompt(ITEM, 1, "c").messages] == ["user", "assistant", "user", "assistant"]
    assert PairPrompt().build(ITEM, 2, 0) != PairPrompt().build(ITEM, 0, 2)
    assert PairPrompt().asks != PairPrompt(language="zh").asks


def vote(**changes: Any) -> ResultRow:
    item = replace(ITEM, gold=(1.0, 0.0, 0.0))
    known: dict[str, Any] = {
        "item_id": "i",
        "judge": "pointwise",
        "outcome": "verdict",
        "order": (2, 0, 1),
        "text": "said",
        "scores": (9.0, 1.0, 3.0),
        "gold": item.gold,
        "n": 3,
        "item": item_to_row(item),
    }
    return ResultRow(**known | changes)


def test_votes_are_labelled_by_eq_10(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        vote(),
        vote(scores=(9.0, 9.0, 1.0)),  # a tie with the best is wrong
        vote(outcome="unparsed", scores=None),
        vote(gold=None),
        vote(gold=(1.0, 1.0, 0.0)),
        vote(item={}),
        vote(candidate=1, gold=(1.0, 0.0, 0.0), n=1, order=(0,), scores=(0.0,)),
    ]
    monkeypatch.setattr(judgments, "read_results", lambda _: rows)
    words = Words()
    found: Any = take_judgments(HeadConfig(kind="meta", data="x"), "x", words)  # type: ignore[arg-type]
    assert [example.label for example in found.labelled] == [1.0, 0.0, 1.0]
    assert sum(found.left_out.values()) == 4
    twice: Any = take_judgments(HeadConfig(kind="meta", data="x"), "x,x", words)  # type: ignore[arg-type]
    assert [example.label for example in twice.labelled] == [1.0, 0.0, 1.0] * 2
    shown = words.seen[0][0]
    assert shown.index("fig") < shown.index("apple") < shown.index("rust"), "in the order that the judge saw"
    assert "fig" not in words.seen[2][0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([vote(), vote()], "all 2 votes of 'x' are right"),
        ([vote(outcome="timeout", scores=None)], "no vote that can be labelled .*1 votes without a verdict"),
        ([], "it has no votes"),
    ],
)
def test_votes_that_teach_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, rows: list[ResultRow], said: str
) -> None:
    monkeypatch.setattr(judgments, "read_results", lambda _: rows)
    with pytest.raises(InputError, match=said):
        take_judgments(HeadConfig(kind="meta", data="x"), "x", Words())  # type: ignore[arg-type]


def test_settings_without_effect_are_refused() -> None:
    with pytest.raises(ValidationError, match="margin and center are of bt and cloud"):
        HeadConfig(kind="pairrm", data="x", margin="gold")
    with pytest.raises(ValidationError, match="result files, which meta takes"):
        HeadConfig(kind="meta", data="x", field=("prompt=q",))


def test_a_pair_shares_what_it_begins_with_and_stays_together() -> None:
    def pair(chosen: tuple[int, ...], rejected: tuple[int, ...], group: int) -> tuple[TrainSequence, TrainSequence]:
        example: Any = PairExample(chosen=chosen, rejected=rejected, margin=0.0, prompt="")  # type: ignore[arg-type]
        return pair_sequences(example, group)

    first = pair((1, 2, 3, 4), (1, 2, 5), 0)
    assert [(s.prompt_ids, s.response_ids[:-1], s.loss_mask) for s in first] == [
        ((1, 2), (3, 4), (False, False, True)),
        ((1, 2), (5,), (False, True)),
    ]
    inside = pair((1, 2), (1, 2, 5), 1)
    assert [(s.prompt_ids, s.response_ids[:-1]) for s in inside] == [((1, 2), ()), ((1, 2), (5,))]
    [one, two] = micro_batches([*first, *inside], 3, ranks=2, whole=True)
    assert [[row.samples for row in micro] for micro in (*one, *two)] == [[(0, 1)], [(2, 3)]]
    with pytest.raises(InputError, match="begin with different tokens"):
        pair((1, 2), (3, 2), 0)


def test_no_text_may_end_in_padding(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    assert choose_padding(tokenizer, {7, 8}, 99).token_id == 0
    # The tokenizer's own padding ends a text: another special token is taken.
    found = choose_padding(tokenizer, {0, 2}, 99)
    assert (found.token_id, found.tokenizer.pad_token, found.tokenizer.padding_side) == (1, "<unk>", "right")
    bare = SimpleNamespace(
        pad_token_id=None, unk_token_id=None, bos_token_id=None, eos_token_id=2, pad_token=None, added_tokens_decoder={}
    )
    with pytest.raises(InputError, match=r"no token to pad with: its pad_token is None, texts end in \[2\]"):
        choose_padding(bare, {2}, 99)


def test_missing_fields_are_named(config: Make) -> None:
    with pytest.raises(InputError, match="no field that is known to be the candidates or the gold"):
        load_task(config("bt", [{"prompt": "a", "rejected": "b"}]))
    with pytest.raises(InputError, match="no field 'critiques'"):
        load_task(config("cloud", [{"prompt": "a", "chosen": "b", "rejected": "c"}]))
    with pytest.raises(InputError, match="lacks item_id"):
        load_task(config("meta", [{"prompt": "a"}]))
