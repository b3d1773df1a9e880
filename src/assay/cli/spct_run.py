"""What ``assay spct`` does: the stages that are to be done, one after the other, each command a process of its own.

A stage is done when its mark says so, which is written last. A command that is killed goes on by itself when it is
given again; so does this one. Every decision is made by the layers below.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sys
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core import log
from assay.core.deadline import Deadline
from assay.core.errors import AssayError, InputError, OutputError, StartError, TrainingStopped
from assay.core.files import write_whole
from assay.core.lock import Lock
from assay.report.words import duration
from assay.spct.pipeline.mark import FILE, Mark, read_mark, write_mark
from assay.spct.pipeline.recipe import SpctRecipe
from assay.spct.pipeline.schedule import Due, due, remove_first
from assay.spct.pipeline.stage import HERE, Command, render
from assay.spct.pipeline.variants import Variant, chosen, variants

from .recipe import over_recipe, read_recipe
from .showing import say
from .spct import SpctFlags
from .spct_engine import Answers
from .spct_process import command_line, run_command, tail
from .spct_report import report_run
from .spct_show import show_plan

OUT_OF_TIME = 75
"""The exit code where this call has had its time: the same command goes on."""
SPARE_S = 60.0
"""Seconds of a call that a training needs beside its updates: to start, to read its data, to save."""
LATE_S = 15.0
"""Seconds by which a training that ends by itself may be late."""
LEAST_S = 20.0
"""With fewer seconds left nothing is begun any more."""
REPORT = "report"
_ERRORS: dict[int, type[AssayError]] = {2: InputError, 3: StartError, 4: OutputError, 5: TrainingStopped}


def run_spct(flags: SpctFlags) -> None:
    """Run the command; exit code 75 where the time of this call is over, 130 after Ctrl-C, else that of what failed."""
    log.setup("warning")
    recipe = over_recipe(SpctRecipe, flags.recipe, read_recipe(flags.recipe), {})
    every = variants(recipe, flags.run_dir, _digests(recipe))
    asked = chosen(every, flags.ablation)
    stages = [name for name in flags.only if name != REPORT]
    if flags.plan:
        show_plan(due(asked, stages, _marks(asked)))
        return
    with Lock(flags.run_dir / ".lock", f"the folder {str(flags.run_dir)!r}", "name another --run-dir"):
        _redo(asked, flags.redo)
        whole = asyncio.run(_Call(flags, recipe).run(asked, stages)) if stages or not flags.only else True
        report_run(flags.run_dir, every)
    if not whole:
        say("the time of this call is over; the same command goes on")
        sys.exit(OUT_OF_TIME)


@dataclass(slots=True)
class _Call:
    """One call of the command. Answers whether all that was asked for is done."""

    flags: SpctFlags
    recipe: SpctRecipe

    async def run(self, asked: Sequence[Variant], only: Sequence[str]) -> bool:
        """Run what is due; False where the time was over before."""
        left = due(asked, only, _marks(asked))
        for one in left:
            one.check()
        minutes = self.flags.stop_after_minutes
        deadline = Deadline.never() if minutes is None else Deadline.after(60 * minutes)
        answers = Answers(self.recipe.engine, self.recipe.base, self.flags.run_dir / "sglang.log")
        todo = [one for one in left if not one.done]
        if any(one.placed.stage.samples for one in todo):
            answers.begin()
        try:
            for one in todo:
                if not await self._stage(one, answers, deadline):
                    return False
        finally:
            await answers.close()
        return True

    async def _stage(self, one: Due, answers: Answers, deadline: Deadline) -> bool:
        stage, folder = one.placed.stage, one.placed.folder
        mark = read_mark(folder) or Mark(stage=stage.name, key=one.placed.key, settings=dict(stage.settings))
        mark = mark.model_copy(update={"needs": {need: _made(one.variant, need) for need in stage.needs}})
        say(f"{one.name}: {stage.about}{' · goes on' if mark.finished or mark.seconds else ''}")
        write_mark(folder, mark)
        for place, command in enumerate(stage.commands):
            if place < mark.finished:
                continue
            mark, finished = await self._command(one, command, mark, answers, deadline)
            mark = mark.model_copy(update={"finished": place + 1}) if finished else mark
            write_mark(folder, mark)
            if not finished:
                return False
        write_mark(folder, mark.model_copy(update={"made": uuid.uuid4().hex}))
        say(f"{one.name}: done, {duration(mark.seconds)} in all")
        return True

    async def _command(
        self, one: Due, command: Command, mark: Mark, answers: Answers, deadline: Deadline
    ) -> tuple[Mark, bool]:
        """Run a command; the mark with its time and line, and whether it came to its end."""
        folder = one.placed.folder

        def at(stage: str) -> Path:
            return folder if stage == HERE else one.variant.folder(stage)

        words = command.rendered(at)
        if command.flags is not None:
            write_whole(folder / command.flags_file, json.dumps(command.flags_at(at), indent=1, sort_keys=True))
        model = "" if command.model is None else render(command.model, at)
        if deadline.left < LEAST_S + (SPARE_S if command.timed else 0):
            return mark, False
        words = (*words, *await answers.words(command.asks, model))
        left = deadline.left - (SPARE_S if command.timed else 0)
        if left < LEAST_S:
            return mark, False
        if command.timed and deadline.timeout is not None:
            words = (*words, "--stop-after-minutes", f"{left / 60:.2f}")
        say(f"  $ {command_line(words)}")
        path = folder / f"{command.name}.log"
        ended = await run_command(words, path, _most_s(command, deadline))
        lines = tuple(dict.fromkeys((*mark.lines, command_line(words))))
        mark = mark.model_copy(update={"seconds": mark.seconds + ended.seconds, "lines": lines})
        fault = await answers.fault()
        if fault is not None:
            write_mark(folder, mark)
            raise StartError(
                f"{one.name}: SGLang broke ({fault}). What failed for that reason is recorded as failed: give the same "
                f"command with --redo {one.placed.stage.name}"
            )
        if ended.stopped:
            return mark, False
        if ended.code and not (command.skips and ended.code == 1 and _holds(folder / command.makes)):
            write_mark(folder, mark)
            raise _failed(one, command, ended.code, path)
        made = (folder / command.makes).exists()
        if not made and not command.timed:
            raise StartError(f"{one.name}: {command.name} ended well and made no {str(folder / command.makes)!r}")
        say(f"    {duration(ended.seconds)} · {tail(path, 2).partition(chr(10))[0]}")
        return mark, made


def _holds(path: Path) -> bool:
    """Whether something came of a command that skipped some input: exit code 1 also means that nothing did."""
    return path.is_dir() or (path.is_file() and path.stat().st_size > 0)


def _most_s(command: Command, deadline: Deadline) -> float | None:
    left = deadline.timeout
    return left if left is None or not command.timed else left + LATE_S


def _failed(one: Due, command: Command, code: int, path: Path) -> AssayError:
    kind = _ERRORS.get(code, AssayError)
    return kind(
        f"{one.name}: {command.name} ended with exit code {code}. The end of its log {str(path)!r}:\n{tail(path)}"
    )


def _redo(asked: Sequence[Variant], names: Sequence[str]) -> None:
    """Delete what is to be made anew. Only folders that carry the mark of a stage are."""
    for variant in asked:
        for one in remove_first(variant, names):
            if (one.folder / FILE).exists():
                say(f"redo: {str(one.folder)!r} is deleted")
                shutil.rmtree(one.folder)


def _marks(found: Sequence[Variant]) -> dict[Path, Mark | None]:
    return {one.folder: read_mark(one.folder) for variant in found for one in variant.placed}


def _made(variant: Variant, need: str) -> str:
    mark = read_mark(variant.folder(need))
    if mark is None or mark.made is None:
        raise InputError(f"{variant.name}: stage {need!r} is not done, and it is needed; run it first")
    return mark.made


def _digests(recipe: SpctRecipe) -> dict[str, str]:
    """Hashes of the files that recipe and ablations name."""
    names = {recipe.principles, *(one.set.get("principles") for one in recipe.ablation)}
    found: dict[str, str] = {}
    for name in names:
        if isinstance(name, str):
            with suppress(OSError):
                found[name] = hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16]
            if name not in found:
                raise InputError(f"principles {name!r}: there is no such file")
    return found
