"""One run writes a folder at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.training.run_folder import begin_folder, one_writer


@pytest.mark.parametrize("saves", ["run/checkpoints", "elsewhere"])
def test_a_run_folder_is_written_by_one(tmp_path: Path, saves: str) -> None:
    with ExitStack() as first, ExitStack() as second:
        one_writer(tmp_path / "run", tmp_path / saves, first)
        with pytest.raises(InputError, match=r"run' is being written by another run .* or name another --run-dir"):
            one_writer(tmp_path / "run", tmp_path / "third", second)
    assert not list(tmp_path.rglob(".lock")), "a place of its own that was taken first is given back"


def test_no_run_saves_among_the_checkpoints_of_another(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        one_writer(tmp_path / "one", tmp_path / "one" / "checkpoints", first)
        with pytest.raises(InputError, match=r"checkpoints' is being written by another run .* or name another --save"):
            one_writer(tmp_path / "two", tmp_path / "one" / "checkpoints", second)


def test_a_run_may_save_into_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with ExitStack() as held:
        one_writer(tmp_path / "one", tmp_path / "link", held)


def test_two_runs_do_not_save_into_one_folder(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        one_writer(tmp_path / "one", tmp_path / "shared", first)
        with pytest.raises(InputError, match=r"shared' is being written by another run .* or name another --save"):
            one_writer(tmp_path / "two", tmp_path / "shared", second)
    with ExitStack() as third:
        one_writer(tmp_path / "two", tmp_path / "shared", third)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("held", ['{"model_type": "llama"}', "[]", "{", ""])
def test_a_config_that_no_run_wrote_is_left_alone(tmp_path: Path, held: str, begun: bool) -> None:
    path = tmp_path / "config.json"
    path.write_text(held)
    with pytest.raises(InputError, match=r"config.json' is not the settings of a run.*name another --run-dir"):
        begin_folder(path, {"run_dir": "r", "lr": 1.0}, may_change=(), begun=begun)
    assert path.read_text() == held


def test_a_run_that_left_nothing_may_be_begun_with_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    first, second = {"run_dir": "r", "lr": 1.0}, {"run_dir": "r", "lr": 2.0}
    assert begin_folder(path, first, may_change=(), begun=False) == first
    assert begin_folder(path, second, may_change=(), begun=False) == second
    with pytest.raises(InputError, match=r"holds a run with lr=2.0 instead of 1.0"):
        begin_folder(path, first, may_change=(), begun=True)
    assert begin_folder(path, first, may_change=("lr",), begun=True) == second


def test_steps_without_settings_are_those_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with pytest.raises(InputError, match=r"no '.*config.json' with its settings: name another --run-dir.*--save"):
        begin_folder(path, {"run_dir": "r"}, may_change=(), begun=True)
    assert not path.exists()
