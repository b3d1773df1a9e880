from pathlib import Path

import pytest

from assay.data import FieldMap, load_items
from assay.data.rows import RowError, to_item
from assay.data.shapes import detect

SHARED = Path(__file__).parents[2] / "../shared/data"
CHAT = [{"role": "user", "content": "q"}]


@pytest.mark.parametrize(
    ("row", "name", "fields"),
    [
        (
            {"id": "a", "prompt": "q", "candidates": ["x"], "reference": "r", "gold": [1]},
            "assay",
            "prompt=prompt candidates=candidates reference=reference gold=gold id=id",
        ),
        ({"messages": CHAT, "candidates": ["x"]}, "assay", "prompt=messages candidates=candidates"),
        (
            {"prompt": "q", "chosen": "x", "rejected": "y", "subset": "s", "id": 3},
            "rewardbench",
            "prompt=prompt chosen=chosen rejected=rejected id=id",
        ),
        (
            {"prompt": "q", "chosen": ["x"], "rejected": ["y"]},
            "rm-bench",
            "prompt=prompt chosen=chosen rejected=rejected",
        ),
        ({"chosen": CHAT, "rejected": CHAT}, "preference", "chosen=chosen rejected=rejected"),
        (
            {"pair_id": "p", "question": "q", "response_A": "x", "response_B": "y", "label": "A>B"},
            "judgebench",
            "prompt=question candidates=response_A,response_B gold=label id=pair_id",
        ),
        (
            {"question_id": "p", "prompt": "q", "response_2": "y", "response_1": "x", "scores": [1, 0]},
            "ppe",
            "prompt=prompt candidates=response_1,response_2 gold=scores id=question_id",
        ),
        (
            {"prompt": "q", "response_1": "x", "response_2": "y", "winner": "model_a"},
            "ppe",
            "prompt=prompt candidates=response_1,response_2 gold=winner",
        ),
        ({"question": "q", "answer": "so #### 4"}, "gsm8k", "prompt=question reference=answer reference_after='####'"),
        (
            {"problem": "q", "solution": "s", "answer": "4", "unique_id": "u"},
            "math",
            "prompt=problem reference=answer id=unique_id",
        ),
        (
            {"prompt": CHAT, "reward_model": {"ground_truth": "34", "style": "rule"}, "extra_info": {"index": "i"}},
            "dapo",
            "prompt=prompt reference=reward_model.ground_truth id=extra_info.index",
        ),
        ({"prompt": CHAT, "label": "204"}, "rollout", "prompt=prompt reference=label"),
        (
            {"prompt": "q", "response": "x", "label": "204"},
            "rollout",
            "prompt=prompt candidates=response reference=label",
        ),
        (
            {"prompt": "q", "responses": ["x", "y"], "ground_truth": "204"},
            "rollout",
            "prompt=prompt candidates=responses reference=ground_truth",
        ),
        (
            {"input": "q", "llm_response": "x", "error_label": "no_error"},
            "realmistake",
            "prompt=input candidates=llm_response gold=error_label",
        ),
        (
            {"bon_uid": "b", "conversation_input": CHAT, "bon_best": {"answer": "x"}, "loser_list": [{"answer": "y"}]},
            "rmb-bon",
            "prompt=conversation_input chosen=bon_best.answer rejected=loser_list.answer id=bon_uid",
        ),
        (
            {"query": "q", "output": "x", "is_correct": True},
            "guessed",
            "prompt=query candidates=output gold=is_correct",
        ),
    ],
)
def test_detect(row, name, fields):
    shape = detect(row)
    assert shape is not None
    assert (shape.name, str(shape.fields)) == (name, fields)


@pytest.mark.parametrize("row", [{}, {"text": "x"}, {"instruction": "a", "input": "b", "response1": "c"}])
def test_rows_that_say_nothing_are_not_guessed_at(row):
    assert detect(row) is None


@pytest.mark.parametrize(
    ("file", "shape", "rows", "n", "gold", "reference"),
    [
        ("gsm8k/example_model_solutions.jsonl", "gsm8k-solutions", 1319, 4, (0.0, 0.0, 0.0, 1.0), "18"),
        ("gsm8k/ppe_like_best_of_4.jsonl", "ppe", 1319, 4, (0.0, 0.0, 0.0, 1.0), "18"),
        ("gsm8k/test.jsonl", "gsm8k", 1319, 0, None, "18"),
        ("math500/test.jsonl", "math", 500, 0, None, "\\left( 3, \\frac{\\pi}{2} \\right)"),
        ("aime2024/qwen-aime24.jsonl", "math", 30, 0, None, "204"),
        ("judgebench/gpt-4o-2024-05-13.jsonl", "judgebench", 350, 2, (1.0, 0.0), None),
        ("rewardbench_rebuilt/rb_llmbar.jsonl", "rewardbench", 419, 2, (1.0, 0.0), None),
        ("rm_bench/chat_filtered.json", "rm-bench", 129, 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), None),
    ],
)
def test_published_files_load_as_they_are(file, shape, rows, n, gold, reference):
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"{file} is not beside the repository")
    loaded = load_items(path, need=())
    first = loaded.items[0]
    assert (loaded.shape, len(loaded.items), loaded.bad) == (shape, rows, ())
    assert (first.n, first.gold, first.reference) == (n, gold, reference)
    assert len({item.id for item in loaded.items}) == rows


@pytest.mark.parametrize(
    ("row", "authors"),
    [
        ({"prompt": "q", "chosen": "x", "rejected": "y", "chosen_model": "a", "rejected_model": "b"}, ["a", "b"]),
        ({"prompt": "q", "chosen": "x", "rejected": "y", "chosen_model": "a", "rejected_model": None}, ["a", None]),
        ({"prompt": "q", "chosen": "x", "rejected": "y"}, [None, None]),
        ({"prompt": "q", "response_1": "x", "response_2": "y", "winner": "tie", "model_a": "a", "model_b": "b"},
         ["a", "b"]),
        ({"prompt": "q", "response_1": "x", "response_2": "y", "response_3": "z", "scores": [1, 0, 0],
          "model_name": "a"}, ["a", "a", "a"]),
        ({"question": "q", "response_A": "x", "response_B": "y", "label": "A>B", "response_model": "a"}, ["a", "a"]),
        ({"input": "q", "llm_response": "x", "error_label": "error", "metadata": {"llm_response_model": "a"}}, ["a"]),
    ],
)  # fmt: skip
def test_authors_are_read_where_a_row_names_them(row, authors):
    shape = detect(row)
    assert shape is not None
    item = to_item(row, shape.fields, "1", need=(), cells=False)
    assert [candidate.author for candidate in item.candidates] == authors


def test_authors_that_the_user_maps():
    row = {"q": "?", "a": [{"text": "x", "author": "own"}, "y"], "who": ["m", "n"]}
    fields = FieldMap.parse(["prompt=q", "candidates=a", "authors=who"])
    item = to_item(row, fields, "1", need=(), cells=False)
    # What an answer says of itself counts before it.
    assert [candidate.author for candidate in item.candidates] == ["own", "n"]
    assert "who" not in item.metadata
    with pytest.raises(RowError, match="3 authors for 2 candidates"):
        to_item({**row, "who": ["m", "n", "o"]}, fields, "1", need=(), cells=False)
