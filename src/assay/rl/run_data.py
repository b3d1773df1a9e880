"""The data that a run is given: prompts to train on, eval sets, the monitor's gold items. All of it is read, and found
to be usable, before a model, an engine, Ray or a service starts.

Owns: which files those are, and whose prompts are too long. Does not own: how a file is read (``prompts``,
``evaluation``, ``data``), nor what a reward needs of a prompt (``readiness``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.core.errors import InputError
from assay.core.types import Item

from .config import TrainConfig
from .evaluation import EvalConfig, EvalSet, load_sets
from .monitor.config import MonitorConfig
from .monitor.gold import load_gold
from .prompts import DataConfig, Row, load_prompts
from .tokens import PolicyTokenizer

log = logging.getLogger(__name__)

LEAVE_OUT = "leave such prompts out with --rollout-max-prompt-len"
TAKE_OUT = "take it out of the set"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """Everything, in the order of the files. ``gold`` is empty where no monitor asks about it."""

    rows: tuple[Row, ...]
    sets: tuple[EvalSet, ...] = ()
    gold: tuple[Item, ...] = ()

    @property
    def every(self) -> Iterator[Row]:
        """The prompts of training, then those of the sets."""
        yield from self.rows
        for one in self.sets:
            yield from one.rows


def read_data(config: TrainConfig) -> RunData:
    """Read all files.

    Raises:
        InputError: one cannot be read, or a row of it cannot be used; the message names the flag, the file, the line,
            the field, and which fields are there.
    """
    data, watch = config.settings(DataConfig), config.settings(MonitorConfig)
    return RunData(
        rows=tuple(load_prompts(config.prompt_data or "", data)),
        sets=load_sets(config.settings(EvalConfig), data),
        gold=load_gold(watch) if watch.monitor_interval is not None else (),
    )


def fitting(data: RunData, tokenizer: PolicyTokenizer, *, limit: int | None, context: int | None) -> RunData:
    """The same with the tokens of every prompt counted, without the prompts of training above ``limit``.

    Args:
        limit: ``--rollout-max-prompt-len``; None leaves nothing out.
        context: how many tokens the policy takes, prompt and answer together; None: not known yet.

    Raises:
        InputError: a prompt leaves no room for an answer; none is short enough; the policy cannot read one.
    """
    rows = tuple(row for row in _counted(data.rows, tokenizer) if limit is None or row.tokens <= limit)
    if not rows:
        where = data.rows[0].where.rpartition(", line ")[0]
        raise InputError(f"{where}: no prompt has at most {limit} tokens (--rollout-max-prompt-len)")
    sets = tuple(replace(one, rows=tuple(_counted(one.rows, tokenizer))) for one in data.sets)
    fitted = replace(data, rows=rows, sets=sets)
    check_lengths(fitted, context)
    return fitted


def check_lengths(data: RunData, context: int | None) -> None:
    """Raises InputError: a prompt of counted tokens leaves no room for an answer in ``context``."""
    if context is None:
        return
    for rows, fix in ((data.rows, LEAVE_OUT), *((one.rows, TAKE_OUT) for one in data.sets)):
        for row in rows:
            if row.tokens + 1 > context:
                raise InputError(
                    f"{row.where}: the prompt has {row.tokens} tokens, and the policy's context holds {context}: {fix}"
                )


def check_room(config: TrainConfig, data: RunData, context: int | None) -> None:
    """Whether answers of the length that the flags allow have room in ``context`` behind their prompts.

    Raises:
        InputError: a length that was said has none behind any prompt.
    """
    if context is None:
        return
    trained, held = "rollout_max_response_len", "eval_max_response_len"
    lengths = [(trained, config.rollout_max_response_len, data.rows)]
    own = config.eval_max_response_len
    for one in data.sets:
        lengths.append((held, own, one.rows) if own else (trained, config.rollout_max_response_len, one.rows))
    for name, length, rows in lengths:
        flag = f"--{name.replace('_', '-')} {length}"
        # Nobody said the default, which is cut off like any answer that is too long.
        if length >= context and name in config.model_fields_set:
            raise InputError(f"{flag} can never fit: the policy takes {context} tokens, prompt and answer together")
        short = [row.tokens for row in rows if row.tokens + length > context]
        if short:
            log.warning(
                "%s has no room behind %d of %d prompts (%s), which have up to %d tokens: the policy takes %d, prompt "
                "and answer together, and longer answers are cut off or refused",
                *(flag, len(short), len(rows), rows[0].where.rpartition(", line ")[0], max(short), context),
            )


def _counted(rows: Sequence[Row], tokenizer: PolicyTokenizer) -> Iterable[Row]:
    for row in rows:
        try:
            yield replace(row, tokens=len(tokenizer.render(row.prompt)))
        except InputError as error:
            raise InputError(f"{row.where}: {error}") from error
