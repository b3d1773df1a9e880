from __future__ import annotations

import errno
from pathlib import Path

import pytest

from assay.core.errors import OutputError
from assay.core.types import ChatPrompt, Completion, Message, Request
from assay.scoring.journal import Journal, read_journal, read_sealed, seal
from assay.scoring.recorder import Recorder
from assay.scoring.records import Row, generation_row


def row(id: str, text: str = "1") -> Row:
    request = Request(id=id, prompt=ChatPrompt(messages=(Message(role="user", content="q"),)))
    return generation_row(
        request=request, completions=(Completion(request_id=id, text=text),), instance="x", latency_s=0.5
    )


def test_rows_come_back_and_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    journal = Journal(path, {"run": 1})
    for n in range(1000):
        journal.append(row(str(n)))
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"item_id": "torn')
    header, rows = read_journal(path)
    assert header == {"run": 1}
    assert [r["item_id"] for r in rows] == [str(n) for n in range(1000)]
    again = Journal(path, {"run": 1})
    again.append(row("after"))
    again.close()
    assert [r["item_id"] for r in read_journal(path)[1]][-2:] == ["999", "after"]


def test_sealing_keeps_every_field_and_half_an_emoji(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    seal([row("a", "\ud83d x"), row("b", "判断")], path, {"run": 1})
    header, rows = read_sealed(path)
    assert header == {"run": 1}
    assert [r["text"] for r in rows] == ["\\ud83d x", "判断"]
    assert rows[1] == {**row("b", "判断"), "time": rows[1]["time"]}
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_is_an_output_error_and_keeps_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "run.journal", {})
    journal.append(row("kept"))
    journal.flush()

    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("assay.scoring.journal.os.write", full)
    journal.append(row("lost"))
    with pytest.raises(OutputError, match="No space left on device"):
        journal.flush()
    with pytest.raises(OutputError, match="free some space"):
        journal.append(row("refused"))
    with pytest.raises(OutputError):
        journal.close()
    assert [r["item_id"] for r in read_journal(journal.path)[1]] == ["kept"]


def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        Journal(tmp_path / "file" / "run.journal", {})


def test_a_recorder_seals_files_of_bounded_size(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, rows_per_file=10)
    for n in range(25):
        recorder.append(row(f"{n:02d}"))
    recorder.close()
    files = sorted(tmp_path.iterdir())
    assert [len(read_sealed(f)[1]) for f in files] == [10, 10, 5]
    assert [r["item_id"] for f in files for r in read_sealed(f)[1]] == [f"{n:02d}" for n in range(25)]


def test_a_recorder_on_a_full_disk_counts_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)

    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("assay.scoring.journal.os.write", full)
    recorder.append(row("a"))
    while recorder.error is None:
        recorder.append(row("b"))
    recorder.append(row("c"))
    assert recorder.dropped >= 2
    assert "No space left" in recorder.error


def test_a_killed_recorders_journal_is_sealed_by_the_next(tmp_path: Path) -> None:
    dead = Journal(tmp_path / "judgments-20260101T000000-999999999-0001.journal.jsonl", {"assay": "recorder"})
    dead.append(row("left"))
    dead.close()
    Recorder(tmp_path).close()
    (sealed,) = tmp_path.glob("judgments-20260101*.parquet")
    assert [r["item_id"] for r in read_sealed(sealed)[1]] == ["left"]
