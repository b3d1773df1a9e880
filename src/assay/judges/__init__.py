"""Judges: pure functions from an item to requests, and from completions to a verdict or a failure.

``build_judge`` makes one by name. A built-in judge is a line in ``JUDGES``; a user's own is the path of a TOML file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from assay.core.errors import InputError

from .base import Judge, content_hash
from .options import JudgeOptions
from .parts import join, parts

__all__ = [
    "JUDGES",
    "OPTIONS",
    "Judge",
    "JudgeOptions",
    "build_all",
    "build_judge",
    "content_hash",
    "join",
    "load_judge",
    "parts",
]


OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "verifier": ("lenient", "choices", "min_mass", "labels", "language"),
        "pointwise": ("lenient", "mode", "reference", "language"),
        "math": (),
    }
)
"""The options that each built-in judge has."""


def build_all(options: JudgeOptions) -> tuple[Judge, ...]:
    """Every built-in judge, each with those of the options that it has."""
    return tuple(build_judge(name, options.of(known)) for name, known in OPTIONS.items())


def build_judge(name: str, options: JudgeOptions | None = None) -> Judge:
    """The judge called ``name``: a key of ``JUDGES``, or the path of a TOML file (ends in ``.toml``).

    Raises:
        InputError: unknown name, an option that the judge does not have, or a file that is wrong.
    """
    options = options or JudgeOptions()
    if name.endswith(".toml"):
        return load_judge(name, options)
    build = JUDGES.get(name)
    if build is None:
        raise InputError(f"unknown judge {name!r}; there are {', '.join(JUDGES)}, or the path of a .toml file")
    return build(options)


def load_judge(path: str | Path, options: JudgeOptions | None = None) -> Judge:
    """The judge in a TOML file; ``lenient`` can be turned on from outside, all else stands in the file.

    Raises:
        InputError: the file is wrong (the message names file, key and value), or another option is set.
    """
    from .custom import CustomJudge
    from .spec import load_spec

    options = options or JudgeOptions()
    options.only(str(path), "lenient")
    spec, prompt = load_spec(Path(path))
    if options.lenient:
        spec = spec.model_copy(update={"lenient": True})
    return CustomJudge(spec=spec, prompt=prompt)


def _verifier(options: JudgeOptions) -> Judge:
    from .verifier import VerifierJudge

    options.only("verifier", *OPTIONS["verifier"])
    return VerifierJudge(
        lenient=options.lenient,
        choices=options.choices,
        min_mass=options.min_mass,
        labels=options.labels,
        language=options.language,
    )


def _pointwise(options: JudgeOptions) -> Judge:
    from .pointwise import PointwiseJudge

    options.only("pointwise", *OPTIONS["pointwise"])
    return PointwiseJudge(
        lenient=options.lenient, mode=options.mode, reference=options.reference, language=options.language
    )


def _math(options: JudgeOptions) -> Judge:
    from .math_rule import MathJudge

    options.only("math", *OPTIONS["math"])
    return MathJudge()


JUDGES: Mapping[str, Callable[[JudgeOptions], Judge]] = MappingProxyType(
    {"verifier": _verifier, "pointwise": _pointwise, "math": _math}
)
"""The built-in judges; each module is imported when its judge is built."""
