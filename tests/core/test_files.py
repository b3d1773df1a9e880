"""Files are whole or not there, whatever goes wrong while they are written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import OutputError
from assay.core.files import cannot_write, whole, write_all, write_whole


def _broken_off(path: Path, fault: BaseException) -> None:
    with whole(path, what="the page", fix="free some space") as partial:
        partial.write_text("half of the n")
        raise fault


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_appears_when_the_block_ends(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "new" / "file.txt"
    with whole(path, durable=durable) as partial:
        partial.write_text("one")
        assert not path.exists()
    assert path.read_text() == "one"
    assert os.listdir(path.parent) == ["file.txt"]


@pytest.mark.parametrize("fault", [ValueError("no number"), KeyboardInterrupt()])
def test_a_block_that_raises_leaves_the_old_file(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")
    with pytest.raises(type(fault)):
        _broken_off(path, fault)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_full_disk_is_told_with_the_file_and_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with pytest.raises(OutputError) as told:
        _broken_off(path, OSError(errno.ENOSPC, "No space left on device"))
    assert str(told.value) == f"cannot write the page {str(path)!r}: No space left on device; free some space"
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*file/below"):
        write_whole(tmp_path / "file" / "below", b"")


def test_an_error_without_a_reason_of_the_system_speaks_for_itself() -> None:
    assert str(cannot_write(Path("a"), OSError("odd"))) == "cannot write 'a': odd"


def test_half_an_emoji_is_written_as_its_escape(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "a\ud83d ü")
    assert (tmp_path / "text").read_bytes() == b"a\\ud83d \xc3\xbc"


def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")
    code = (
        "import os, sys; from pathlib import Path; from assay.core.files import whole\n"
        "with whole(Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('half'); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


def test_everything_is_written_where_the_system_takes_little_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = bytearray()

    def little(_: int, data: memoryview) -> int:
        taken.extend(data[:3])
        return min(3, len(data))

    monkeypatch.setattr(os, "write", little)
    write_all(0, b"eight on")
    assert bytes(taken) == b"eight on"
