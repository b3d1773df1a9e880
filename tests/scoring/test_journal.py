from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.core.errors import OutputError
from assay.core.types import ChatPrompt, Completion, Message, Request
from assay.scoring.journal import Journal, read_at, read_header, read_journal, read_sealed, seal
from assay.scoring.recorder import Recorder
from assay.scoring.records import GENERATIONS, generation_row


def row(id: str, text: str = "1") -> dict[str, Any]:
    request = Request(id=id, prompt=ChatPrompt(messages=(Message(role="user", content="q"),)))
    return generation_row(
        request=request, completions=(Completion(request_id=id, text=text),), instance="x", latency_s=0.5
    )


def open_journal(path: Path) -> Journal[dict[str, Any]]:
    return Journal(path, {"run": 1}, dict)


def ids(path: Path) -> list[str]:
    return [found["request_id"] for _, found in read_journal(path)[1]]


def full_disk(descriptor: int, data: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_rows_come_back_and_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    journal = open_journal(path)
    for n in range(1000):
        journal.append(row(str(n)))
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"request_id": "torn')
    assert read_journal(path)[0] == {"run": 1}
    assert ids(path) == [str(n) for n in range(1000)]
    again = open_journal(path)
    again.append(row("after"))
    again.close()
    assert ids(path)[-2:] == ["999", "after"]


def test_a_sealed_file_has_every_row_in_order_and_no_group_of_long_texts_is_large(tmp_path: Path) -> None:
    short, long = tmp_path / "short.parquet", tmp_path / "long.parquet"
    seal((row(str(n)) for n in range(5_300)), short, {}, GENERATIONS)
    seal((row(str(n), text=f"{n}" + "x" * 50_000) for n in range(600)), long, {}, GENERATIONS)
    for path, count, groups in ((short, 5_300, [5_000, 300]), (long, 600, [250, 250, 100])):
        assert [found["request_id"] for found in read_sealed(path)] == [str(n) for n in range(count)]
        with pq.ParquetFile(path) as file:
            assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == groups
    seal([], tmp_path / "none.parquet", {"run": 1}, GENERATIONS)
    assert (read_header(tmp_path / "none.parquet"), list(read_sealed(tmp_path / "none.parquet"))) == ({"run": 1}, [])


def test_rows_are_found_again_by_their_offsets(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    journal = open_journal(path)
    for n in range(10):
        journal.append(row(str(n), text="判" * n))
    journal.close()
    offsets = {found["request_id"]: offset for offset, found in read_journal(path)[1]}
    assert [r["request_id"] for r in read_at(path, [offsets["7"], offsets["0"], offsets["9"]])] == ["7", "0", "9"]


def test_sealing_keeps_every_field_and_half_an_emoji(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    given = [row("a", "\ud83d x"), row("b", "判断")]
    seal(given, path, {"run": 1}, GENERATIONS)
    rows = list(read_sealed(path))
    assert read_header(path) == {"run": 1}
    assert [r["texts"] for r in rows] == [["\\ud83d x"], ["判断"]]
    assert rows[1] == given[1]
    assert not list(tmp_path.glob("*.partial"))


def test_a_full_disk_is_an_output_error_and_keeps_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal(tmp_path / "run.journal")
    journal.append(row("kept"))
    journal.flush()
    monkeypatch.setattr("assay.core.files.os.write", full_disk)
    journal.append(row("lost"))
    with pytest.raises(OutputError, match="No space left on device"):
        journal.flush()
    with pytest.raises(OutputError, match="free some space"):
        journal.append(row("refused"))
    with pytest.raises(OutputError):
        journal.close()
    assert ids(journal.path) == ["kept"]


def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        open_journal(tmp_path / "file" / "run.journal")


def test_a_recorder_seals_files_of_bounded_size(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, rows_per_file=10)
    for n in range(25):
        recorder.append_generation(row(f"{n:02d}"))
    recorder.close()
    files = sorted(tmp_path.iterdir())
    assert [len(list(read_sealed(file))) for file in files] == [10, 10, 5]
    assert [r["request_id"] for file in files for r in read_sealed(file)] == [f"{n:02d}" for n in range(25)]


def test_a_recorder_on_a_full_disk_counts_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    monkeypatch.setattr("assay.core.files.os.write", full_disk)
    recorder.append_generation(row("a"))
    while recorder.error is None:
        recorder.append_generation(row("b"))
    recorder.append_generation(row("c"))
    assert recorder.dropped >= 2
    assert "No space left" in recorder.error
    recorder.close()


def test_a_killed_recorders_journal_is_sealed_by_the_next(tmp_path: Path) -> None:
    dead = open_journal(tmp_path / "generations-20260101T000000-999999999-0001.journal.jsonl")
    dead.append(row("left"))
    dead.close()
    Recorder(tmp_path).close()
    (sealed,) = tmp_path.glob("generations-20260101*.parquet")
    assert [r["request_id"] for r in read_sealed(sealed)] == ["left"]
