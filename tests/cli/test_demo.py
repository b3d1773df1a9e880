"""What ``make run`` runs, made short: a real service in a process of its own, judging, training, a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli.main import app


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo(tmp_path: Path) -> None:
    said = ["demo", "--out", str(tmp_path), "--limit", "2", "--steps", "2"]
    for _ in range(2):  # The second time over what the first one left.
        done = CliRunner().invoke(app, said, catch_exceptions=False)
        assert done.exit_code == 0
        assert "step 2/2" in done.output
        assert "held-out questions answered right" in done.output
    report = (tmp_path / "report.html").read_text()
    assert 'id="training"' in report
    assert "training/run/report.html" in report
    assert (tmp_path / "training" / "run" / "report.html").exists()
    assert (tmp_path / "training" / "policy" / "model.safetensors").exists()
    assert {"math.parquet", "verifier.parquet"} <= {path.name for path in tmp_path.glob("*.parquet")}
