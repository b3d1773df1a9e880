"""Judges: pure functions from an item to requests, and from completions to a verdict or a failure.

``build_judge`` makes one by name. A built-in judge is a line in ``JUDGES``; a user's own is the path of a TOML file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.core.config import Config
from assay.core.errors import InputError

from .base import Judge, content_hash
from .custom import CustomJudge
from .math_rule import MathConfig, MathJudge
from .options import EVERY, checked_options, options_by_judge
from .pairwise import PairwiseConfig, PairwiseJudge
from .parts import join, parts
from .pointwise import PointwiseConfig, PointwiseJudge
from .rubric import RubricJudge
from .rubric_spec import RubricConfig, RubricSpec
from .spec import load_file
from .tokenprob import TokenProbConfig, TokenProbJudge
from .verifier import VerifierConfig, VerifierJudge

__all__ = ["EVERY", "JUDGES", "Judge", "build_all", "build_judge", "content_hash", "join", "load_judge", "parts"]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A judge that comes with the package: its options, and what makes it of them."""

    options: type[Config]
    make: Callable[..., Judge]


JUDGES: Mapping[str, BuiltIn] = MappingProxyType(
    {
        "verifier": BuiltIn(VerifierConfig, VerifierJudge),
        "pointwise": BuiltIn(PointwiseConfig, PointwiseJudge),
        "pairwise": BuiltIn(PairwiseConfig, PairwiseJudge),
        "tokenprob": BuiltIn(TokenProbConfig, TokenProbJudge),
        "rubric": BuiltIn(RubricConfig, RubricJudge),
        "math": BuiltIn(MathConfig, MathJudge),
    }
)
"""The built-in judges."""


def build_all(said: Mapping[str, Mapping[str, object]] | None = None) -> tuple[Judge, ...]:
    """Every built-in judge, with its options in ``said`` by its name, and those under ``*`` that it has.

    Raises:
        InputError: an unknown judge, an option that it does not have, a wrong value.
    """
    options = options_by_judge({name: judge.options for name, judge in JUDGES.items()}, said or {})
    return tuple(build_judge(name, **options[name]) for name in JUDGES)


def build_judge(name: str, /, **options: object) -> Judge:
    """The judge called ``name``: a key of ``JUDGES``, or the path of a TOML file (ends in ``.toml``).

    Raises:
        InputError: unknown name, an option that the judge does not have, a wrong value, or a file that is wrong.
    """
    if name.endswith(".toml"):
        return load_judge(name, **options)
    judge = JUDGES.get(name)
    if judge is None:
        raise InputError(f"unknown judge {name!r}; there are {', '.join(JUDGES)}, or the path of a .toml file")
    return judge.make(**dict(checked_options(name, judge.options, options)))


class FileOptions(Config):
    """What can be said from outside about the judge of a file; all else stands in the file."""

    lenient: bool = False
    """Forgive how a verdict is written, also where the file does not say so."""


def load_judge(path: str | Path, /, **options: object) -> Judge:
    """The judge in a TOML file; ``lenient`` can be turned on from outside, all else stands in the file.

    Raises:
        InputError: the file is wrong (the message names file, key and value), or another option is set.
    """
    outside = checked_options(str(path), FileOptions, options)
    spec, prompt = load_file(Path(path))
    if outside.lenient:
        spec = spec.model_copy(update={"lenient": True})
    if isinstance(spec, RubricSpec):
        said = {name: value for name, value in spec if name != "criterion"}
        return RubricJudge(criteria=spec.criterion, **said)
    return CustomJudge(spec=spec, prompt=prompt)
