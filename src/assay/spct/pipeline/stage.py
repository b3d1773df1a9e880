"""A stage: commands of ``assay`` with the settings that they follow from, and the files of other stages that they read.

Paths are symbolic (``At``) until the folders are known, so that a stage is the same stage wherever it lies. Its key is
a hash of its settings, its commands and the keys of what it needs: equal keys, interchangeable files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Json

HERE = "."
"""The stage itself, as the stage of an ``At``."""


@dataclass(frozen=True, slots=True)
class At:
    """A file or folder of a stage."""

    stage: str
    path: str

    def __str__(self) -> str:
        return f"@{self.stage}/{self.path}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Several, with commas between them."""

    parts: tuple[At, ...]

    def __str__(self) -> str:
        return ",".join(map(str, self.parts))


Word: TypeAlias = "str | At | Joined"
Asks = Literal["no", "samples", "rolls"]
"""Whether a command needs an engine: for samples of one model, or for the rollouts of a policy."""
FolderOf: TypeAlias = Callable[[str], Path]
"""The folder of a stage, by its name; ``HERE`` is the stage's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One call of ``assay``.

    ``flags``: those that go into a file of flags (``-c``). ``makes``: what is there, in the stage's folder, once it is
    done. ``model``: whose answers it asks for. ``timed``: takes ``--stop-after-minutes``; others are interrupted.
    ``skips``: exit code 1 (some input was skipped) is no failure, unless what it makes is empty.
    """

    name: str
    words: tuple[Word, ...]
    makes: str
    flags: Mapping[str, Json | At | Joined] | None = None
    asks: Asks = "no"
    model: Word | None = None
    timed: bool = False
    skips: bool = False

    def symbols(self) -> Json:
        """The command without a path of this machine."""
        said: dict[str, Json] = {name: _symbol(value) for name, value in (self.flags or {}).items()}
        return [self.name, [*map(str, self.words)], said, str(self.model), self.makes]

    def rendered(self, folder: FolderOf) -> tuple[str, ...]:
        """The words behind ``assay``, without those about engine and time."""
        own = () if self.flags is None else ("-c", str(folder(HERE) / self.flags_file))
        return (*(render(word, folder) for word in self.words), *own)

    def flags_at(self, folder: FolderOf) -> dict[str, Json]:
        """What stands in the file of flags."""
        said = (self.flags or {}).items()
        return {name: render(value, folder) if isinstance(value, At | Joined) else value for name, value in said}

    @property
    def flags_file(self) -> str:
        return f"{self.name}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """``settings``: by the names that the recipe gives them. ``minutes``: of training, where it is limited."""

    name: str
    about: str
    commands: tuple[Command, ...]
    needs: tuple[str, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    minutes: float | None = None

    def key(self, needs: Mapping[str, str]) -> str:
        """What the stage's files follow from. ``needs``: the keys of the stages that it needs."""
        commands: list[Json] = [command.symbols() for command in self.commands]
        return digest([self.name, dict(self.settings), commands, [[name, needs[name]] for name in self.needs]])

    @property
    def samples(self) -> bool:
        """Whether one of its commands needs an engine."""
        return any(command.asks != "no" for command in self.commands)


def keys_of(stages: Iterable[Stage]) -> dict[str, str]:
    """The key of every stage; each stands behind those that it needs."""
    keys: dict[str, str] = {}
    for stage in stages:
        keys[stage.name] = stage.key(keys)
    return keys


def needed(stages: Sequence[Stage], names: Iterable[str]) -> tuple[Stage, ...]:
    """The named stages and all that they need, in order.

    Raises:
        InputError: there is no such stage.
    """
    by_name = {stage.name: stage for stage in stages}
    wanted: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in by_name:
            raise InputError(f"there is no stage {name!r}; there are {', '.join(by_name)}")
        if name not in wanted:
            wanted.add(name)
            todo += by_name[name].needs
    return tuple(stage for stage in stages if stage.name in wanted)


def behind(stages: Sequence[Stage], name: str) -> tuple[str, ...]:
    """The stage and every one that needs it, directly or not, in order."""
    found = {name}
    for stage in stages:
        if found & set(stage.needs):
            found.add(stage.name)
    return tuple(stage.name for stage in stages if stage.name in found)


def render(word: Word, folder: FolderOf) -> str:
    """A word with its path."""
    if isinstance(word, Joined):
        return ",".join(render(part, folder) for part in word.parts)
    return str(folder(word.stage) / word.path) if isinstance(word, At) else word


def _symbol(value: Json | At | Joined) -> Json:
    return str(value) if isinstance(value, At | Joined) else value
