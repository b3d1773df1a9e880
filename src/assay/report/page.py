"""What every page of a report shares: its parts as files, how they are put together, and how a page is written."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from assay.core.files import write_whole


def write_page(path: str | Path, page: str) -> None:
    """Write a page, whole or not at all; its folder is made.

    Raises:
        OutputError: the file cannot be written.
    """
    # The escape of a lone surrogate is right in JSON, and harmless elsewhere.
    write_whole(Path(path), page, what="the report")


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Every ``<!--name-->`` replaced in one pass, so that what is put in is not looked at again."""
    return re.sub(r"<!--(\w+)-->", lambda found: parts[found[1]], template)


def part(name: str) -> str:
    """A file of this package, as text."""
    return files("assay.report").joinpath(name).read_text(encoding="utf-8")


def allow(text: str) -> str:
    """The source by which a content security policy lets exactly this style or script through."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
