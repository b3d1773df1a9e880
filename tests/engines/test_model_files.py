"""A model's folder, read without torch: which files, which shapes, and a name that follows the weights."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.engines.model_files import MANIFEST, stamp, tensor_shapes, weight_files, weight_version


def _write(path: Path, data: bytes) -> Path:
    """Safetensors: the length of the header, the header, the data."""
    header = json.dumps({"a.weight": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    _write(tmp_path / "model.safetensors", b"12345678")
    return tmp_path


def test_shapes_are_those_of_the_headers(folder: Path) -> None:
    assert [file.name for file in weight_files(folder)] == ["model.safetensors"]
    assert tensor_shapes(folder) == {"a.weight": (8,)}


def test_a_file_that_is_none_is_named(folder: Path) -> None:
    (folder / "more.safetensors").write_bytes(struct.pack("<Q", 1 << 40))
    with pytest.raises(InputError, match=r"more\.safetensors.*a header of"):
        tensor_shapes(folder)


def test_the_version_follows_the_weights_and_the_configuration(folder: Path) -> None:
    first = weight_version(folder)
    assert first == weight_version(folder)
    _write(folder / "model.safetensors", b"12345679")
    second = weight_version(folder)
    (folder / "config.json").write_text('{"a": 1}')
    assert len({first, second, weight_version(folder)}) == 3


def test_a_manifest_that_knows_the_hash_is_believed(folder: Path) -> None:
    (folder / MANIFEST).write_text(json.dumps({"weights_sha256": "0123456789abcdef"}))
    assert weight_version(folder) == "0123456789ab"


def test_a_stamp_tells_that_a_file_was_touched(folder: Path) -> None:
    before = stamp(folder)
    assert before == stamp(folder)
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert stamp(folder) != before
