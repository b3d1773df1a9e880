"""What the documentation shows runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def test_the_judge_in_python_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/judges.md").read_text(), re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Verdict\(scores=\((1.0, 0.0|0.0, 1.0)\)", done.stdout)


def test_the_judge_in_a_file_runs(tmp_path: Path) -> None:
    toml, shell = re.findall(r"```(?:toml|bash)\n(.*?)```", (ROOT / "docs/judges.md").read_text(), re.DOTALL)[:2]
    (tmp_path / "politeness.toml").write_text(toml)
    parse = next(line for line in shell.splitlines() if "assay parse" in line).split("|")[1].split()
    done = subprocess.run(
        [sys.executable, "-m", *parse],
        cwd=tmp_path,
        input='{"text": "YES"}',
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == '{"scores": [1.0], "flags": []}\n'


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reward_functions_of_the_page_on_rewards_are_python() -> None:
    """Those of other frameworks cannot run here; the glue that they call is tested in ``tests/client``."""
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs/rewards.md").read_text(), re.DOTALL)
    assert len(examples) == 6
    for example in examples:
        compile(example, "rewards.md", "exec")
