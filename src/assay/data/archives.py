"""Data files within a zip archive, read in memory: nothing of an archive is ever written to the disk.

That matters for data whose authors ask that it stay out of the open. Passwords of the old zip encryption are taken,
which is all that Python reads.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from assay.core.errors import InputError

from .formats import TEXT_READERS
from .records import AnyRecord

SUFFIX = ".zip"
FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv"}


class WrongPasswordError(InputError):
    """An encrypted file of an archive that this password does not open."""


def archived_files(path: Path) -> list[str]:
    """The data files in an archive, by name.

    Raises:
        InputError: it cannot be read, or is no whole zip archive.
    """
    with _opened(path) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    return sorted(name for name in names if Path(name).suffix.lower() in FORMATS)


def archived_records(path: Path, name: str, password: str | None = None) -> Iterator[AnyRecord]:
    """Records of one data file in an archive.

    Raises:
        InputError: no such file in it, a format that is not read out of an archive, no password, broken bytes.
        WrongPasswordError: a wrong one.
    """
    kind = FORMATS.get(Path(name).suffix.lower())
    if kind is None:
        raise InputError(f"{name!r} in {str(path)!r} is not read out of an archive: it must be {', '.join(FORMATS)}")
    with _opened(path) as archive:
        try:
            entry = archive.getinfo(name)
        except KeyError as error:
            raise InputError(f"there is no {name!r} in {str(path)!r}") from error
        if entry.flag_bits & 0x1 and password is None:
            raise InputError(f"{name!r} in {str(path)!r} is encrypted: give its password")
        # Whole, so that its checksum is looked at before any of it is taken for text.
        with _explained(path, name, encrypted=bool(entry.flag_bits & 0x1)):
            data = archive.read(name, None if password is None else password.encode())
    yield from TEXT_READERS[kind](_Member(f"{path}/{name}", data))


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive, in memory."""

    name: str
    data: bytes

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        del mode
        return io.BytesIO(self.data)

    def read_bytes(self) -> bytes:
        return self.data

    def __str__(self) -> str:
        return self.name


@contextmanager
def _opened(path: Path) -> Generator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise InputError(f"{str(path)!r} is no whole zip archive: {error}. Was it cut off? Fetch it again.") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    with archive:
        yield archive


@contextmanager
def _explained(path: Path, name: str, *, encrypted: bool) -> Generator[None]:
    """What zipfile raises, as one error that says what to do."""
    try:
        yield
    except NotImplementedError as error:
        fix = "pack it with deflate and, where it is encrypted, the old zip encryption"
        raise InputError(f"cannot read {name!r} in {str(path)!r}: {error}: {fix}") from error
    except RuntimeError as error:
        if not encrypted:
            raise InputError(f"cannot read {name!r} in {str(path)!r}: {error}") from error
        raise WrongPasswordError(f"the password does not open {name!r} in {str(path)!r}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        # The password is checked by one byte, so one wrong one of 256 is found out only by the broken text.
        hint = "is the password right, and the archive whole?" if encrypted else "is the archive whole?"
        raise InputError(f"{name!r} in {str(path)!r} is broken: {error} ({hint})") from error
