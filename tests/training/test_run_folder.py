"""One run writes a folder at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.training.run_folder import one_writer


@pytest.mark.parametrize("saves", ["run/checkpoints", "elsewhere"])
def test_a_run_folder_is_written_by_one(tmp_path: Path, saves: str) -> None:
    with ExitStack() as first, ExitStack() as second:
        one_writer(tmp_path / "run", tmp_path / saves, first)
        with pytest.raises(InputError, match=r"run' is being written by another run .* or name another --run-dir"):
            one_writer(tmp_path / "run", tmp_path / "third", second)
    assert not list(tmp_path.rglob(".lock")), "a place of its own that was taken first is given back"


def test_two_runs_do_not_save_into_one_folder(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        one_writer(tmp_path / "one", tmp_path / "shared", first)
        with pytest.raises(InputError, match=r"shared' is being written by another run .* or name another --save"):
            one_writer(tmp_path / "two", tmp_path / "shared", second)
    with ExitStack() as third:
        one_writer(tmp_path / "two", tmp_path / "shared", third)
