"""Rows of a file as tokens, in this process or in several: tokenizing hundreds of thousands of rows takes minutes.

One process feeds all others, so it does little for a row: it passes on lines as they stand in the file, and takes back
arrays. Parsing, checking, rendering, tokenizing and the draw of what is held out are the others' work.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from assay.core.errors import InputError, StartError
from assay.data import Part, open_parts

from ..config import TuningConfig
from ..fit.held import is_held
from ..source import open_source_model
from .config import SftConfig
from .encode import Encoded, Encoder
from .rows import part_rows

_AHEAD = 4
"""Parts of the data a process that wait for it or for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """What an encoder is made from, in any process."""

    hf_checkpoint: str
    trust_remote_code: bool = False
    apply_chat_template: bool = True
    train_on: Literal["last", "all"] = "last"
    eval_share: float = 0.0
    seed: int = 0

    @classmethod
    def of(cls, config: SftConfig) -> EncoderSettings:
        return cls(
            hf_checkpoint=config.hf_checkpoint,
            trust_remote_code=config.trust_remote_code,
            apply_chat_template=config.apply_chat_template,
            train_on=config.train_on,
            eval_share=config.eval_share,
            seed=config.seed,
        )

    def holds_out(self, row: Encoded) -> bool:
        """Whether a row is measured, and not learned from: by its prompt, so that all answers to it are on one side."""
        share = self.eval_share
        return share > 0 and is_held(list(row.ids[: row.prompt]), share, seed=self.seed)

    def make(self) -> Encoder:
        """Raises InputError, StartError: the model's tokenizer cannot be had."""
        model = TuningConfig(hf_checkpoint=self.hf_checkpoint, trust_remote_code=self.trust_remote_code)
        source = open_source_model(model)
        return Encoder(
            source.tokenizer,
            vocabulary=source.vocabulary,
            ends=source.ends,
            apply_chat_template=self.apply_chat_template,
            train_on=self.train_on,
        )


def encoded(source: str, settings: EncoderSettings, workers: int) -> Iterator[Encoded]:
    """The rows of a source in their order, encoded by so many processes; by this one where that is 1.

    Raises:
        InputError: as ``open_source``, ``part_rows`` and ``Encoder.encode``, of the first row that is unfit; there are
            no rows.
    """
    parts = open_parts(source)
    if workers == 1:
        encoder = settings.make()
        done = (_encoded_part(encoder, settings, source, part) for part in parts)
    else:
        done = _by_workers(source, parts, settings, workers)
    empty = True
    for rows in done:
        empty = empty and not rows
        yield from rows
    if empty:
        raise InputError(f"{source!r} holds no rows to train on")


def _by_workers(source: str, parts: Iterable[Part], settings: EncoderSettings, workers: int) -> Iterator[list[Encoded]]:
    # Not forked: torch and the tokenizer may have threads.
    context = multiprocessing.get_context("spawn")
    waiting: deque[Future[list[Encoded]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_alone) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(_worked, settings, source, part))
                if len(waiting) >= _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise StartError(
                f"a process that tokenizes died; with less memory in use it may not: lower encode_workers {workers}"
            ) from error
        finally:
            for future in waiting:
                future.cancel()


def _alone() -> None:
    """A process has one core: threads of the tokenizer would only take it from the others."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _worked(settings: EncoderSettings, source: str, part: Part) -> list[Encoded]:
    return _encoded_part(_encoder(settings), settings, source, part)


@lru_cache(maxsize=1)
def _encoder(settings: EncoderSettings) -> Encoder:
    """A process makes it once."""
    return settings.make()


def _encoded_part(encoder: Encoder, settings: EncoderSettings, source: str, part: Part) -> list[Encoded]:
    rows = map(encoder.encode, part_rows(part, source))
    return [replace(row, held=True) if settings.holds_out(row) else row for row in rows]
