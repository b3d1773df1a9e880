"""What is in the wheel and in the source distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ADAPTER = "assay/engines/embedded/adapters/some-judge"
FILES = ("adapter_config.json", "adapter_model.safetensors", "card.json")


@pytest.mark.slow
def test_an_adapter_is_in_the_wheel_and_in_the_source_distribution(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    folder = copy / "src" / ADAPTER
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text("{}")
    code = "from setuptools import build_meta as b; b.build_wheel('out'); b.build_sdist('out')"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (wheel,), (source,) = (list((copy / "out").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"{ADAPTER}/{name}" for name in FILES} <= names
    assert {"assay/py.typed", "assay/judges/prompts/verifier.en.txt"} <= names
    with tarfile.open(source) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{ADAPTER}/{name}" for name in FILES} <= there
