"""The shape of the source: layers go down only, light layers stay light, nothing grows too large."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from assay.cli.verbs import VERBS

SRC = Path(__file__).parents[1] / "src" / "assay"

# From the bottom up. Packages on one level do not import each other.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("judges", "voting"),
    ("wire",),
    ("data", "models", "placement", "synthetic", "tracking"),
    ("engines", "client"),
    ("scoring",),
    ("service", "training"),
    ("rl", "bench"),
    ("spct",),
    ("report",),
    ("cli",),
)
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}
HEAVY = ("torch", "transformers", "ray", "fastapi", "uvicorn", "datasets", "prometheus_client")
# The torch layers, and the one package that is the HTTP server.
MAY_BE_HEAVY = ("engines/embedded", "models", "service", "training")

# Where any exception becomes a typed failure: of one judgment, of one HTTP request, of one worker's task; or the end of
# a tracker of somebody else's.
BOUNDARIES = {
    "rl/rewards/calling.py",
    "scoring/boundary.py",
    "service/boundary.py",
    "engines/embedded/worker.py",
    "engines/rule/worker.py",
    "tracking/guarded.py",
}

TOGETHER = {"assay.synthetic.draws", "assay.synthetic.vocabulary"}
"""A stream of draws that invents words, and words that are drawn from a stream."""

FILES = sorted(SRC.rglob("*.py"))


def _imports(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Absolute modules that a file imports, and whether the import runs when the module is imported."""
    lazy = {
        id(node)
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) or _is_type_checking(scope)
        for node in ast.walk(scope)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) not in lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, id(node) not in lazy


def _edges() -> Iterator[tuple[str, str]]:
    """Which module imports which, whenever that is: also within functions, and for types alone."""
    names = {path: ("assay", *path.relative_to(SRC).with_suffix("").parts) for path in FILES}
    known = {_dotted(parts) for parts in names.values()}
    for path, parts in names.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                above = parts[: -node.level] if node.level else ()
                base = (*above, *node.module.split(".")) if node.module else above
                for alias in node.names:
                    found = _dotted((*base, alias.name))
                    yield _dotted(parts), found if found in known else _dotted(base)


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(parts).removesuffix(".__init__")


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _package(path: Path) -> str:
    relative = path.relative_to(SRC)
    return relative.parts[0] if len(relative.parts) > 1 else ""


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_go_down(path: Path) -> None:
    own = _package(path)
    if not own:
        return
    assert own in LEVEL, f"package {own!r} has no level: add it to LEVELS"
    for module, _ in _imports(ast.parse(path.read_text())):
        parts = module.split(".")
        if parts[0] != "assay" or len(parts) == 1 or parts[1] == own:
            continue
        assert LEVEL[parts[1]] < LEVEL[own], f"{path.relative_to(SRC)} imports {module}: imports go down only"


@pytest.mark.parametrize("depth", [3, 9], ids=["packages of a package", "modules"])
def test_nothing_imports_in_a_circle(depth: int) -> None:
    """A lazy import hides a circle from Python, not from a reader."""
    graph: dict[str, set[str]] = {}
    for importer, imported in _edges():
        one, other = (".".join(name.split(".")[:depth]) for name in (importer, imported))
        if other.startswith("assay.") and one != other and {one, other} != TOGETHER:
            graph.setdefault(one, set()).add(other)
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_other_packages_are_imported_absolutely(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            depth = len(path.relative_to(SRC).parts) - 1
            assert node.level <= depth, f"{path.relative_to(SRC)}:{node.lineno} reaches out of its package by dots"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_light_modules_import_nothing_heavy(path: Path) -> None:
    if str(path.relative_to(SRC)).startswith(MAY_BE_HEAVY):
        return
    for module, at_import in _imports(ast.parse(path.read_text())):
        if at_import:
            assert module.split(".")[0] not in HEAVY, f"{path.relative_to(SRC)} imports {module} at import time"


def test_the_command_line_starts_light() -> None:
    flags = sorted({one.flags.partition(":")[0] for one in VERBS.values()})
    code = (
        f"import sys, importlib, assay.cli.main; [importlib.import_module('assay.cli.' + m) for m in {flags!r}]; "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_sizes(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400, "a file over 400 lines: is there a natural cut?"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 70, f"{node.name} has {length} lines"


def test_names() -> None:
    assert not [p for p in FILES if p.name in ("utils.py", "helpers.py", "misc.py", "common.py")]


def test_no_getattr_with_a_default() -> None:
    """Third-party objects (models, tokenizers) may lack an attribute; our own types never do."""
    offenders = [
        f"{path.relative_to(SRC)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) == 3
    ]
    assert [o for o in offenders if not o.startswith("engines/embedded")] == []


def test_everything_is_caught_only_at_the_boundaries() -> None:
    """A handler of all exceptions either raises on, or is one of the few places where a fault becomes data."""
    swallowing = {
        str(path.relative_to(SRC))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    }
    assert swallowing <= BOUNDARIES
