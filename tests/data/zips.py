"""Small zip archives, encrypted in the old way (APPNOTE 6.1), which Python reads and cannot write."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


class _Keys:
    def __init__(self, password: bytes) -> None:
        self.keys = [0x12345678, 0x23456789, 0x34567890]
        for byte in password:
            self._update(byte)

    def encrypt(self, byte: int) -> int:
        seed = (self.keys[2] | 2) & 0xFFFF
        found = byte ^ ((seed * (seed ^ 1)) >> 8 & 0xFF)
        self._update(byte)
        return found

    def _update(self, byte: int) -> None:
        self.keys[0] = _crc(self.keys[0], byte)
        self.keys[1] = ((self.keys[1] + (self.keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        self.keys[2] = _crc(self.keys[2], self.keys[1] >> 24)


def _crc(key: int, byte: int) -> int:
    return zlib.crc32(bytes([byte]), key ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def write_zip(path: Path, files: Mapping[str, bytes], password: str) -> Path:
    """An archive of stored files, encrypted with ``password``."""
    body, directory = b"", b""
    for name, data in files.items():
        crc, keys = zlib.crc32(data), _Keys(password.encode())
        stored = bytes(keys.encrypt(byte) for byte in bytes(11) + bytes([crc >> 24]) + data)
        named = name.encode()
        where = len(body)
        body += _LOCAL.pack(b"PK\3\4", 20, 1, 0, 0, 33, crc, len(stored), len(data), len(named), 0) + named + stored
        directory += _CENTRAL.pack(
            b"PK\1\2", 20, 20, 1, 0, 0, 33, crc, len(stored), len(data), len(named), 0, 0, 0, 0, 0, where
        )
        directory += named
    end = _END.pack(b"PK\5\6", 0, 0, len(files), len(files), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path
