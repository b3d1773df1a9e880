"""What a user may hand in: in whatever order, twice, with holes, too large, broken. Nothing is lost in silence."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.bench.aggregate import aggregate
from assay.bench.benchmarks.own import own
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.loading import Loaded, load_benchmark
from assay.core.errors import InputError
from assay.data.fieldmap import FieldMap

from ..data.zips import write_zip
from .shared import DATA, needs_shared, scored

RB = BENCHMARKS["rewardbench"]


def row(number: int, subset: str = "hep-go", **other: Any) -> dict[str, Any]:
    return {"id": number, "prompt": f"q{number}", "chosen": f"a{number}", "rejected": "b", "subset": subset, **other}


def lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in rows).encode()


def load(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "rewardbench") -> Loaded:
    path = folder / "rows.jsonl"
    path.write_bytes(lines(rows))
    return load_benchmark(BENCHMARKS[name], path)


def test_the_order_of_records_changes_no_figure(tmp_path: Path) -> None:
    rows = [row(number, subset) for number, subset in enumerate(("hep-go", "hep-js", "donotanswer") * 30)]

    def figures(several: Sequence[Mapping[str, Any]]) -> object:
        judged = [scored(unit, int(unit.item.id) % 7, 3) for unit in load(tmp_path, several).units]
        return aggregate(RB, judged, Counting(ties="random"), draws=20)

    shuffled = random.Random(0).sample(rows, len(rows))
    assert figures(shuffled) == figures(rows)


def test_a_record_that_is_there_twice_counts_once_and_is_told(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1), row(2), row(1)])
    assert [unit.item.id for unit in loaded.units] == ["1", "2"]
    assert [str(fault) for fault in loaded.faults] == [
        "rows.jsonl, line 3: the same record as rows.jsonl, line 1: it counts once"
    ]


def test_another_record_of_the_same_id_is_renamed_and_told(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1), row(1, prompt="another"), row(1, prompt="a third")])
    assert [unit.item.id for unit in loaded.units] == ["1", "1~2", "1~3"]
    assert [unit.case for unit in loaded.units] == ["1", "1~2", "1~3"]
    assert loaded.renamed == ("1~2", "1~3")


def test_a_case_of_several_units_is_renamed_as_a_whole(tmp_path: Path) -> None:
    def nine(last: str) -> dict[str, Any]:
        return {"id": 1, "domain": "chat", "prompt": "q", "chosen": ["a", "b", last], "rejected": ["d", "e", "f"]}

    loaded = load(tmp_path, [nine("c"), nine("x"), nine("c")], "rmbench")
    assert len(loaded.units) == 18
    assert {unit.case for unit in loaded.units} == {"chat/1", "chat/1~2"}
    assert [fault.line for fault in loaded.faults] == [3]


def test_missing_subsets_are_told(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1)])
    assert len(loaded.missing) == 22
    assert "hep-go" not in loaded.missing


def test_an_unknown_subset_is_a_fault_that_names_the_nearest(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1), row(2, "hep-goo"), row(3, subset="")])
    assert [fault.line for fault in loaded.faults] == [2, 3]
    assert "unknown subset 'hep-goo': did you mean 'hep-go'?" in str(loaded.faults[0])


def test_a_file_without_a_single_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no unit of 'rewardbench': rows.jsonl, line 1: unknown subset None"):
        load(tmp_path, [{"prompt": "q", "chosen": "a", "rejected": "b"}])


def test_empty_and_huge_responses_are_units(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1, chosen=""), row(2, rejected="x" * 200_000)])
    assert loaded.faults == ()
    assert [[len(c.text) for c in unit.item.candidates] for unit in loaded.units] == [[0, 1], [2, 200_000]]


def test_a_missing_response_is_a_fault(tmp_path: Path) -> None:
    loaded = load(tmp_path, [row(1), row(2, chosen=None), row(3, chosen={"x": 1}), row(4, prompt=" ")])
    assert [(fault.line, fault.reason.split(",")[0]) for fault in loaded.faults] == [
        (2, "the candidate field 'chosen' is missing"),
        (3, "the candidate 'chosen' must be a text"),
        (4, "the prompt 'prompt' is blank"),
    ]


def test_a_file_that_is_not_utf8_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines([row(1)]) + b'{"prompt": "\xe9"}\n')
    with pytest.raises(InputError, match="is not UTF-8: byte 0xe9"):
        load_benchmark(RB, path)


def test_a_folder_is_read_by_the_official_names(tmp_path: Path) -> None:
    for name in ("chat_filtered", "safety-refuse_filtered", "notes"):
        one = {"id": 1, "prompt": "q", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}
        (tmp_path / f"{name}.json").write_text(json.dumps([one]))
    loaded = load_benchmark(BENCHMARKS["rmbench"], tmp_path)
    assert loaded.files == ("chat_filtered.json", "safety-refuse_filtered.json")
    assert loaded.unread == ("notes.json",)
    assert loaded.missing == ("math", "code", "safety-response")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[]")
    with pytest.raises(InputError, match=r"holds no file of 'rmbench' .* but notes.json"):
        load_benchmark(BENCHMARKS["rmbench"], tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_benchmark(RB, tmp_path / "none.jsonl")


def test_the_folder_of_rmb(tmp_path: Path) -> None:
    turn = [{"role": "user", "content": "q", "language": "English"}]
    pair = {"pair_uid": "8", "conversation_input": turn, "chosen": {"llm_name": "m", "answer": "a"},
            "reject": {"llm_name": "n", "answer": "b"}}  # fmt: skip
    bon = {"bon_uid": "8", "conversation_input": turn, "bon_best": {"llm_name": "m", "answer": "a"},
           "loser_list": [{"llm_name": "n", "answer": "b"}, {"llm_name": "o", "answer": "c"}]}  # fmt: skip
    for name, one in (("Pairwise_set/Helpfulness/Chat/x", pair), ("BoN_set/Harmlessness/S1", bon)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / f"{name}.json").write_text(json.dumps([one]))
    listed = load_benchmark(BENCHMARKS["rmb"], tmp_path).units
    assert [(unit.subset, unit.item.n) for unit in listed] == [("Harm_BoN", 3), ("Help_Pair", 2)]
    assert [c.author for c in listed[0].item.candidates] == ["m", "n", "o"]
    paired = load_benchmark(BENCHMARKS["rmb-pairs"], tmp_path).units
    assert [(unit.item.id, unit.units_of_case) for unit in paired] == [
        ("Harm_BoN/8/1", 2), ("Harm_BoN/8/2", 2), ("Help_Pair/8", 1),
    ]  # fmt: skip


def mistake(number: int, **other: Any) -> dict[str, Any]:
    told = {"id": f"m{number}", "task_name": "finegrained_fact_verification", "llm_response_model": "gpt-4-0613"}
    return {"input": "secret", "llm_response": "secret", "error_label": "error", "metadata": told, **other}


PLACE = "data/finegrained_fact_verification/gpt-4-0613.jsonl"


def test_the_archive_of_realmistake_is_opened_with_the_official_password(tmp_path: Path) -> None:
    benchmark = BENCHMARKS["realmistake"]
    files = {PLACE: lines([mistake(1), mistake(2, error_label="secret text")]), "data/example.jsonl": lines([{}])}
    path = write_zip(tmp_path / "data.zip", files, "open-realmistake")
    for source in (path, tmp_path):
        loaded = load_benchmark(benchmark, source)
        assert [unit.item.id for unit in loaded.units] == ["m1"]
        assert loaded.unread == ("data/example.jsonl",)
        assert len(loaded.faults) == 1
        assert "secret" not in str(loaded.faults[0])
    said = (
        rf"the password does not open '{PLACE}' in '.*data.zip': look at --password, or leave it out: there is an off"
    )
    with pytest.raises(InputError, match=said):
        load_benchmark(benchmark, path, password="open me")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="no whole zip archive"):
        load_benchmark(benchmark, path)


def test_an_archive_of_other_names_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    benchmark, path = BENCHMARKS["realmistake"], tmp_path / "data.zip"
    write_zip(path, {"mine.jsonl": lines([mistake(1)])}, "own")
    with pytest.raises(
        InputError, match=r"the password does not open 'mine.jsonl' in '.*': say its own with --password"
    ):
        load_benchmark(benchmark, path)
    assert len(load_benchmark(benchmark, path, password="own").units) == 1, "the only file is meant, whatever its name"
    write_zip(path, {"mine.jsonl": lines([mistake(1)]), "yours.jsonl": lines([mistake(2)])}, "own")
    with pytest.raises(InputError, match=r"but mine.jsonl, yours.jsonl: give those that are its these names"):
        load_benchmark(benchmark, path, password="own")


def test_rows_that_a_benchmark_does_not_count_are_counted(tmp_path: Path) -> None:
    rows = [
        {"question_id": str(i), "prompt": "q", "winner": winner, "response_1": "a", "response_2": "b"}
        for i, winner in enumerate(("model_a", "tie", "tie (bothbad)", "model_b"))
    ]
    loaded = load(tmp_path, rows, "ppe-preference")
    assert [unit.item.gold for unit in loaded.units] == [(1.0, 0.0), (0.0, 1.0)]
    assert loaded.left_out == {"no winner (tie)": 2}


def test_the_majority_of_pandalm_prefers(tmp_path: Path) -> None:
    labels = ((1, 2, 1), (0, 0, 1), (0, 1, 2), (2, 2, 0), (3, 1, 1))
    rows = [
        {"idx": i, "instruction": "do", "input": "it", "response1": True, "response2": "b",
         "annotator1": one, "annotator2": two, "annotator3": three}
        for i, (one, two, three) in enumerate(labels)
    ]  # fmt: skip
    loaded = load(tmp_path, rows, "pandalm")
    assert [(unit.item.id, unit.item.gold) for unit in loaded.units] == [("0", (1.0, 0.0)), ("3", (0.0, 1.0))]
    assert [c.text for c in loaded.units[0].item.candidates] == ["True", "b"]
    assert loaded.units[0].item.question == "do\n\nit"
    assert loaded.left_out == {"a tie by most labels": 1, "three different labels": 1}
    assert [fault.line for fault in loaded.faults] == [5]


def test_the_half_of_judgebench_is_told_by_the_author(tmp_path: Path) -> None:
    made = {"pair_id": "1", "source": "mmlu-pro-law", "label": "A>B", "question": "q", "response_A": "a",
            "response_B": "b", "response_model": "gpt-4o-2024-05-13"}  # fmt: skip
    assert len(load(tmp_path, [made], "judgebench").units) == 1
    with pytest.raises(InputError, match="1 left out: responses by 'gpt-4o-2024-05-13'"):
        load(tmp_path, [made], "judgebench-claude")


def test_own_fields_are_mapped_and_own_rows_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("frage,gut,schlecht\nq,a,b\nr,c,d\n")
    benchmark = own("pairs", FieldMap.parse(["prompt=frage", "chosen=gut", "rejected=schlecht"]))
    assert [unit.item.id for unit in load_benchmark(benchmark, path).units] == ["mine-2", "mine-3"]
    rows = [{"prompt": "q", "candidates": ["a", "b"], "gold": gold} for gold in ([1, 0], [1, 1], [0])]
    loaded = load(tmp_path, rows, "pairs")
    assert (len(loaded.units), loaded.left_out, [fault.line for fault in loaded.faults]) == (
        1, {"gold prefers no candidate": 1}, [3],
    )  # fmt: skip


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str | None]]:
    asked: list[tuple[str, str | None, str | None]] = []

    def load_dataset(name: str, config: str | None, *, split: str, revision: str, streaming: bool) -> Any:
        asked.append((name, revision, split))
        nine = {"domain": "chat", "id": 1, "prompt": "q", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}
        return [row(1) if "reward-bench" in name else nine]

    class Api:
        def dataset_info(self, repo: str, *, revision: str | None) -> Any:
            return SimpleNamespace(sha="c0ffee")

    for name, made in (("datasets", {"load_dataset": load_dataset}), ("huggingface_hub", {"HfApi": Api})):
        module = ModuleType(name)
        vars(module).update(made)
        monkeypatch.setitem(sys.modules, name, module)
    return asked


def test_the_hub_is_read_at_the_pinned_commit(hub: list[tuple[str, str | None, str | None]]) -> None:
    pinned = "168d848cdbbea9764fae4a544dc9ca1e6cca4931"
    assert load_benchmark(RB).revisions == {"allenai/reward-bench": pinned}
    assert load_benchmark(RB).unpinned == ()
    other = "1f3a" * 10
    assert load_benchmark(RB, revision=other).revisions == {"allenai/reward-bench": other}
    assert {revision for _, revision, _ in hub} == {pinned, other}


def test_without_a_pinned_commit_the_one_that_is_read_is_told(hub: list[tuple[str, str | None, str | None]]) -> None:
    loaded = load_benchmark(BENCHMARKS["rmbench"])
    assert (loaded.revisions, loaded.unpinned) == ({"THU-KEG/RM-Bench": "c0ffee"}, ("THU-KEG/RM-Bench",))
    assert hub == [("THU-KEG/RM-Bench", "c0ffee", "train")]


def test_a_branch_is_read_and_told_as_the_commit_that_it_stands_for(
    hub: list[tuple[str, str | None, str | None]],
) -> None:
    loaded = load_benchmark(BENCHMARKS["rmbench"], revision="main")
    assert (loaded.revisions, loaded.unpinned) == ({"THU-KEG/RM-Bench": "c0ffee"}, ())
    each = load_benchmark(BENCHMARKS["rmbench"], revision={"THU-KEG/RM-Bench": "main"})
    assert (each.revisions, each.unpinned) == (loaded.revisions, ())
    own = load_benchmark(BENCHMARKS["rmbench"], "hub:me/mine:train")
    assert own.revisions == {"me/mine": "c0ffee"}
    assert hub[2:] == [("me/mine", "c0ffee", "train")]
    with pytest.raises(InputError, match="leave one of them out"):
        load_benchmark(BENCHMARKS["rmbench"], "hub:me/mine@v1:train", revision="v2")


def test_a_benchmark_without_a_hub_dataset_wants_a_path() -> None:
    with pytest.raises(InputError, match="'rmb' has no hub dataset: name a file or folder"):
        load_benchmark(BENCHMARKS["rmb"])


SHARED = {
    ("rewardbench", "rewardbench_rebuilt/rb_llmbar.jsonl"): 419,
    ("judgebench", "judgebench"): 350,
    ("rmbench", "rm_bench"): 9 * (129 + 228),
    ("realmistake", "realmistake"): 900,
    ("pandalm", "pandalm"): 894,
    ("bon", "gsm8k/example_model_solutions.jsonl"): 731,
}


@needs_shared
@pytest.mark.parametrize(("name", "source"), SHARED)
def test_real_files_are_read_whole(name: str, source: str) -> None:
    loaded = load_benchmark(BENCHMARKS[name], DATA / source)
    assert (len(loaded.units), loaded.faults, loaded.renamed) == (SHARED[name, source], (), ())
    assert len({unit.item.id for unit in loaded.units}) == len(loaded.units)


@needs_shared
def test_the_counts_of_the_real_archive() -> None:
    loaded = load_benchmark(BENCHMARKS["realmistake"], DATA / "realmistake" / "data.zip")
    counts = {subset: sum(unit.subset == subset for unit in loaded.units) for subset in loaded.benchmark.subsets}
    assert {name.rsplit("/", 1)[1]: n for name, n in counts.items()} == {"gpt-4-0613": 140, "Llama-2-70b-chat-hf": 160}
    assert loaded.missing == ()
