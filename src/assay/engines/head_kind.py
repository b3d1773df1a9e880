"""Which head a reward model has, as the ``config.json`` of its folder says: ``assay rm`` writes it there. No torch.

Owns: that entry. Does not own: what a head is shown (``judges.pairrm``, ``judges.replies``, ``judges.meta``).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from assay.core.errors import InputError
from assay.judges.shield import Language

HeadKind: TypeAlias = Literal["bt", "pairrm", "cloud", "meta"]
ENTRY = "assay_head"
"""The key in ``config.json``; whoever else reads the file leaves it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A head. ``language``: of the prompt around what is judged."""

    kind: HeadKind
    language: Language = "en"

    def entry(self) -> dict[str, Any]:
        """What stands in ``config.json``."""
        return asdict(self)


def told_head(model: str) -> Head | None:
    """The head that a model's folder names; None for a folder that names none, and for a name that is no folder here.

    Raises:
        InputError: it names one that is not known.
    """
    path = Path(model).expanduser() / "config.json"
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text("utf-8")).get(ENTRY)
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from error
    if found is None:
        return None
    entry: Any = found if isinstance(found, dict) else {}
    if entry.get("kind") not in get_args(HeadKind) or entry.get("language") not in get_args(Language):
        raise InputError(f"{str(path)!r} names a head that is not known: {found!r:.100}")
    return Head(kind=entry["kind"], language=entry["language"])
