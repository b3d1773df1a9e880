"""The settings of a run as they may be passed on: a page is sent around, and a key in it would be too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_SECRET = re.compile(r"api_?key|secret|password|(?<!max_)(?<!new_)token$|credential", re.IGNORECASE)


def shown(value: Any) -> Any:
    """Settings without what nobody else may see."""
    if isinstance(value, Mapping):
        return {k: "(not shown)" if v and _SECRET.search(str(k)) else shown(v) for k, v in value.items()}
    return [shown(one) for one in value] if isinstance(value, list) else value


def said(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each setting that says something, with its value as text."""
    for name, value in sorted(shown(config).items()):
        if value not in (None, "", [], {}):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
