from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.training_runs import write_run
from typer.testing import CliRunner

from assay.cli.main import app
from assay.core.errors import InputError


def test_a_run_becomes_a_table_a_page_and_a_picture(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    done = CliRunner().invoke(app, ["view", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "aime, pass@1" in done.output
    assert (folder / "report.html").exists()
    assert (folder / "curves.png").exists()
    elsewhere = tmp_path / "shown" / "page.html"
    CliRunner().invoke(app, ["view", str(folder), "--out", str(elsewhere)], catch_exceptions=False)
    assert elsewhere.exists()
    assert (tmp_path / "shown" / "curves.png").exists()


def test_damaged_files_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    (folder / "config.json").write_text("{")
    (folder / "samples" / "step-000019.parquet").write_bytes(b"PAR1")
    done = CliRunner().invoke(app, ["view", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"damaged: {folder / 'config.json'}: no JSON" in done.output
    assert f"damaged: {folder / 'samples' / 'step-000019.parquet'}: " in done.output
    assert "aime, pass@1" in done.output
    assert "step-000019.parquet" in (folder / "report.html").read_text()


def test_a_run_before_its_first_step_is_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"run_dir": "runs/x", "lr": 1e-06}')
    done = CliRunner().invoke(app, ["view", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "no step is made yet" in done.output
    assert (tmp_path / "report.html").exists()


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder of a training run"):
        CliRunner().invoke(app, ["view", str(tmp_path)], catch_exceptions=False)
