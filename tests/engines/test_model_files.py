"""A model's folder, read without torch: which files, which shapes, and a name that follows the weights."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.engines.model_files import (
    MANIFEST,
    base_sha256,
    stamp,
    state_sha256,
    tensor_shapes,
    weight_files,
    weight_version,
)


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


def _several(path: Path, tensors: dict[str, bytes]) -> Path:
    """Some tensors of bytes in one file, in the order given."""
    header, at = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(data)], "data_offsets": [at, at + len(data)]}
        at += len(data)
    said = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(said)) + said + b"".join(tensors.values()))
    return path


def test_the_hash_of_a_state_is_of_names_types_shapes_and_bytes_in_order_of_name(tmp_path: Path) -> None:
    file = _several(tmp_path / "m.safetensors", {"b": b"34", "a": b"12"})
    assert state_sha256([file]) == hashlib.sha256(b'["a", "U8", [2]]\n12["b", "U8", [2]]\n34').hexdigest()


def test_the_hash_of_a_state_does_not_depend_on_the_files(tmp_path: Path) -> None:
    one = _several(tmp_path / "one.safetensors", {"b": b"34", "a": b"12"})
    parts = [_several(tmp_path / "x.safetensors", {"b": b"34"}), _several(tmp_path / "y.safetensors", {"a": b"12"})]
    other = _several(tmp_path / "z.safetensors", {"a": b"12", "b": b"35"})
    assert state_sha256([one]) == state_sha256(parts)
    assert state_sha256([one]) != state_sha256([other])


def test_the_bundled_model_knows_its_hash(folder: Path) -> None:
    assert base_sha256(folder) == state_sha256(weight_files(folder))
    (folder / MANIFEST).write_text(json.dumps({"state_sha256": "f" * 64}))
    assert base_sha256(folder) == "f" * 64
