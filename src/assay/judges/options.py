"""The options of a judge: every judge has a small ``Config`` of its own, and here what was said is checked against it.

Owns: the refusal of options that a judge does not have, and the options that are meant for all judges at once. Does not
own: what options there are and what they mean (each judge).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_mixed

C = TypeVar("C", bound=Config)

EVERY = "*"
"""In options by judge: those of all judges; each one takes those that it has."""


def checked_options(judge: str, kind: type[C], said: Mapping[str, object]) -> C:
    """``said`` as the configuration of the judge.

    Raises:
        InputError: names the judge, the option, its value, and the options that there are.
    """
    for key, value in said.items():
        if key not in kind.model_fields:
            has = f"it has {', '.join(kind.model_fields)}" if kind.model_fields else "it has no options"
            raise InputError(f"judge {judge!r} has no option {key!r} (got {value!r:.80}); {has}")
    try:
        refuse_mixed(kind, said)
        return kind.model_validate(dict(said))
    except ValidationError as error:
        raise InputError(f"judge {judge!r}: {explain(error, kind)}") from error


def options_by_judge(
    kinds: Mapping[str, type[Config]], said: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """The options of each judge of ``kinds``: those said for ``*`` that it has, and over them its own.

    Raises:
        InputError: there is no such judge, or no judge has an option said for all of them.
    """
    for name in said:
        if name != EVERY and name not in kinds:
            raise InputError(f"options of judge {name!r}: there are {', '.join(kinds)}, and {EVERY!r} for all of them")
    for key, value in said.get(EVERY, {}).items():
        if not any(key in kind.model_fields for kind in kinds.values()):
            raise InputError(f"no judge has an option {key!r} (got {value!r})")
    return {
        name: {key: value for key, value in said.get(EVERY, {}).items() if key in kind.model_fields}
        | dict(said.get(name, {}))
        for name, kind in kinds.items()
    }
