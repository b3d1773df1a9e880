"""The base of every configuration class: pydantic, frozen, unknown keys refused by name."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Config(BaseModel):
    """Settings are data: the class is the setting, the docstring under a field is its help."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def explain(error: ValidationError) -> str:
    """A pydantic error as one line a person can act on: where, what, and the value that was given."""
    parts: list[str] = []
    for e in error.errors(include_url=False):
        where = ".".join(str(place) for place in e["loc"]) or "value"
        # A whole object is never shown: it may hold a key that belongs in no message.
        told = "" if e["type"] == "missing" or isinstance(e["input"], dict) else f" (got {e['input']!r:.80})"
        said = (
            e["msg"].removeprefix("Value error, ").replace("Extra inputs are not permitted", "there is no such option")
        )
        parts.append(f"{said}{told}" if where == "value" else f"{where}: {said}{told}")
    return "; ".join(parts)
