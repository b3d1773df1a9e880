from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.data.archives import archived_files, archived_records
from assay.data.records import BadRecord, Record

from .zips import write_zip

LINES = b'{"a": 1}\n\n{"a": "\xc3\xa9"}\nnonsense\n'
SECRET = "open sesame"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_zip(
        tmp_path / "data.zip", {"data/one.jsonl": LINES, "data/read.me": b"x", "two.csv": b"a\n1\n"}, SECRET
    )


def test_encrypted_lines_are_read_in_memory(archive: Path) -> None:
    assert archived_files(archive) == ["data/one.jsonl", "two.csv"]
    one, two, three = archived_records(archive, "data/one.jsonl", SECRET)
    assert (one, two) == (Record(line=1, row={"a": 1}), Record(line=3, row={"a": "é"}))
    assert isinstance(three, BadRecord)
    assert list(archived_records(archive, "two.csv", SECRET)) == [Record(line=2, row={"a": "1"})]
    assert sorted(p.name for p in archive.parent.iterdir()) == ["data.zip"]


def test_without_encryption_a_password_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "plain.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("rows.json", json.dumps([{"a": 1}]))
    assert list(archived_records(path, "rows.json", SECRET)) == [Record(line=1, row={"a": 1})]


def test_no_or_a_wrong_password_is_said(archive: Path) -> None:
    with pytest.raises(InputError, match=r"'data/one.jsonl' in .* is encrypted: give its password"):
        list(archived_records(archive, "data/one.jsonl"))
    with pytest.raises(InputError, match=r"the password does not open 'data/one.jsonl' in|is the password right"):
        list(archived_records(archive, "data/one.jsonl", "open says me"))


def test_one_wrong_password_of_256_is_found_by_the_checksum(archive: Path) -> None:
    """Only one byte tells that a password is wrong."""
    said: set[bool] = set()
    for number in range(600):
        with pytest.raises(InputError, match=r"does not open|Bad CRC-32.*is the password right") as caught:
            list(archived_records(archive, "data/one.jsonl", f"wrong {number}"))
        said.add("Bad CRC-32" in str(caught.value))
    assert said == {True, False}


def test_a_truncated_archive_is_said(archive: Path) -> None:
    whole = archive.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 5):
        archive.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="no whole zip archive"):
            archived_files(archive)


def test_broken_bytes_are_said(archive: Path) -> None:
    whole = bytearray(archive.read_bytes())
    whole[60] ^= 0xFF
    archive.write_bytes(bytes(whole))
    with pytest.raises(InputError, match="broken: Bad CRC-32"):
        list(archived_records(archive, "data/one.jsonl", SECRET))


def test_what_is_not_in_it_and_what_is_not_read(archive: Path) -> None:
    with pytest.raises(InputError, match=r"there is no 'none.jsonl'"):
        list(archived_records(archive, "none.jsonl", SECRET))
    with pytest.raises(InputError, match="not read out of an archive"):
        list(archived_records(archive, "data/read.me", SECRET))
    with pytest.raises(InputError, match="cannot read"):
        archived_files(archive.with_name("other.zip"))


def test_text_that_is_not_utf8_is_said_with_its_place(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "data.zip", {"rows.jsonl": b'{"a": "\xe9"}\n'}, SECRET)
    with pytest.raises(InputError, match=r"rows.jsonl' is not UTF-8: byte 0xe9 at offset 7"):
        list(archived_records(path, "rows.jsonl", SECRET))
