"""The official package on the same scores; it stands in an environment of its own (see the benchmark)."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "rewardbench_official.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rewardbench_official", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_sections_best_of_four_and_ties_are_equal() -> None:
    if importlib.util.find_spec("rewardbench") is None:
        pytest.skip("needs the package rewardbench: benchmarks/rewardbench_official.py says how to install it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = script().compare(3)
    for _, figures in made:
        assert [one.name for one in figures if not one.equal] in ([], ["Ties, equal scores"])
