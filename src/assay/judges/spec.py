"""The TOML file of a user's own judge: a prompt (``JudgeSpec``) or a rubric (``rubric_spec``), checked and loaded.

Owns: loading, the keys of a prompt's file and their legal combinations; messages name file, key and value. Does not
own: what the judge then does (``custom``, ``rubric``).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, FiniteFloat, StringConstraints, ValidationError

from assay.core.config import Config, explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_mixed

from .choices import MinMass
from .rubric_spec import RubricSpec
from .scores import Mode
from .template import placeholders

PLACEHOLDERS = ("question", "conversation", "reference", "candidates", "answer")

S = TypeVar("S", bound=Config)
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Label = Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$")]


class JudgeSpec(Config):
    """The file of a judge. Either ``prompt`` or ``prompt_file`` is needed."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """What the judge is called in tables and records: letters, digits, ``.``, ``_``, ``-``."""
    prompt: Text | None = None
    """The user message, with placeholders: {question} {conversation} {reference} {candidates} {answer}."""
    prompt_file: Text | None = None
    """A text file with the prompt; a relative path starts from the folder of the TOML file."""
    system: Text | None = None
    """The judge's system message; it has no placeholders."""
    parser: Literal["label", "scores", "number"]
    """``label``: the reply is one of ``labels``. ``scores``: one \\boxed{} with a score for every candidate.
    ``number``: the reply is one number within ``range``."""
    labels: dict[Label, FiniteFloat] = Field(default_factory=dict)
    """The legal replies and their scores."""
    range: tuple[FiniteFloat, FiniteFloat] | None = None
    """Lowest and highest legal number of ``parser = "number"``."""
    mode: Mode = "1-10"
    """The scale of ``parser = "scores"``; ``0-1`` judges one candidate at a time."""
    lenient: bool = False
    """Forgive how a verdict is written (bold, full-width digits, ...); such verdicts are flagged."""
    choices: bool = False
    """Read the log-probs of the labels instead of a text."""
    min_mass: MinMass = 0.1
    """With ``choices``: the least common probability of the labels; below it the verdict is refused."""
    answer: Literal["whole", "final"] = "whole"
    """What is shown of a candidate: all, or what stands after its last ``Answer:`` (else its last 300 characters)."""
    per_candidate: bool | None = None
    """Judge each candidate on its own. Default: yes, but for ``parser = "scores"`` with ``mode = "1-10"``."""

    @property
    def one_at_a_time(self) -> bool:
        """``per_candidate``, with its default filled in."""
        if self.per_candidate is None:
            return self.parser != "scores" or self.mode == "0-1"
        return self.per_candidate


def load_file(path: Path) -> tuple[JudgeSpec | RubricSpec, str]:
    """The spec in the file, and its prompt text (empty for a rubric, whose prompt is ours).

    A file with ``[[criterion]]`` is a rubric; ``kind = "rubric"`` or ``"prompt"`` may say so.

    Raises:
        InputError: the file cannot be read, a key is unknown or has a wrong value, or two keys do not go together.
    """
    try:
        keys = tomllib.loads(_text(path, "judge file"))
        kind = keys.pop("kind", "rubric" if "criterion" in keys else "prompt")
        if kind == "rubric":
            return _spec(RubricSpec, keys, path), ""
        if kind != "prompt":
            raise InputError(f"{path}: kind: must be 'prompt' or 'rubric', got {kind!r}")
        spec = _spec(JudgeSpec, keys, path)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    prompt = _prompt(path, spec)
    problem = _combination(spec) or _placeholder_problem(spec, prompt)
    if problem is not None:
        raise InputError(f"{path}: {problem}")
    return spec, prompt


def _spec(kind: type[S], keys: dict[str, Any], path: Path) -> S:
    try:
        refuse_mixed(kind, keys)
        return kind.model_validate(keys)
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, kind)}") from error


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{what} {str(path)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {str(path)!r} is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _prompt(path: Path, spec: JudgeSpec) -> str:
    if (spec.prompt is None) == (spec.prompt_file is None):
        both = "both are given" if spec.prompt is not None else "neither is given"
        raise InputError(f"{path}: prompt, prompt_file: exactly one of the two is needed, {both}")
    if spec.prompt_file is None:
        return (spec.prompt or "").strip()
    prompt = _text(path.parent / spec.prompt_file, f"{path}: prompt_file").strip()
    if not prompt:
        raise InputError(f"{path}: prompt_file: {spec.prompt_file!r} is empty")
    return prompt


def _combination(spec: JudgeSpec) -> str | None:
    """What is wrong with the keys together, or None."""
    said = spec.model_fields_set
    if spec.parser == "label" and len(set(spec.labels.values())) < 2:
        return f"labels: parser 'label' needs at least two labels with different scores, got {spec.labels!r}"
    if spec.parser == "number" and (spec.range is None or not spec.range[0] < spec.range[1]):
        return f"range: parser 'number' needs [low, high] with low < high, got {spec.range!r}"
    owners = {"labels": "label", "choices": "label", "min_mass": "label", "range": "number", "mode": "scores"}
    for key, parser in owners.items():
        if key in said and spec.parser != parser:
            return f"{key}: belongs to parser {parser!r}, not to {spec.parser!r}; remove it"
    if "min_mass" in said and not spec.choices:
        return f"min_mass: {spec.min_mass!r} has no effect without choices = true"
    if not spec.one_at_a_time and (spec.parser != "scores" or spec.mode == "0-1"):
        which = f"parser {spec.parser!r}" if spec.parser != "scores" else "mode '0-1'"
        return f"per_candidate: {which} gives one score, so per_candidate must be true, got False"
    return None


def _placeholder_problem(spec: JudgeSpec, prompt: str) -> str | None:
    """What is wrong with the placeholders, or None."""
    key = "prompt" if spec.prompt_file is None else f"prompt_file {spec.prompt_file!r}"
    found = placeholders(prompt)
    unknown = [name for name in found if name not in PLACEHOLDERS]
    if unknown:
        known = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        return f"{key}: unknown placeholder {{{unknown[0]}}}; known: {known} (to show braces, write {{ {unknown[0]} }})"
    if "candidates" not in found and "answer" not in found:
        return f"{key}: shows no candidate; put {{candidates}} or {{answer}} into it"
    if "answer" in found and not spec.one_at_a_time:
        return f"{key}: {{answer}} is one candidate, but per_candidate is false; use {{candidates}}"
    return None
