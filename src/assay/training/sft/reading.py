"""Rows of a file as tokens, in this process or in several: tokenizing hundreds of thousands of rows takes minutes."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from assay.core.errors import StartError

from ..config import TuningConfig
from ..source import open_source_model
from .config import SftConfig
from .encode import Encoded, Encoder
from .rows import SftRow

_CHUNK = 512
"""Rows that a process is given at a time."""
_AHEAD = 4
"""Chunks a process that wait for it or for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """What an encoder is made from, in any process."""

    hf_checkpoint: str
    trust_remote_code: bool = False
    apply_chat_template: bool = True
    train_on: Literal["last", "all"] = "last"

    @classmethod
    def of(cls, config: SftConfig) -> EncoderSettings:
        return cls(
            hf_checkpoint=config.hf_checkpoint,
            trust_remote_code=config.trust_remote_code,
            apply_chat_template=config.apply_chat_template,
            train_on=config.train_on,
        )

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


def encoded(rows: Iterator[SftRow], settings: EncoderSettings, workers: int) -> Iterator[Encoded]:
    """The rows in their order, encoded by so many processes; by this one where that is 1.

    Raises:
        InputError: as ``Encoder.encode``, of the first row that cannot be.
    """
    if workers == 1:
        yield from map(settings.make().encode, rows)
        return
    # Not forked: torch and the tokenizer may have threads.
    context = multiprocessing.get_context("spawn")
    waiting: deque[Future[list[Encoded]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            while chunk := list(islice(rows, _CHUNK)):
                waiting.append(pool.submit(_encoded_chunk, settings, chunk))
                if len(waiting) >= _AHEAD * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise StartError(
                f"a process that tokenizes died; with less memory in use it may not: lower encode_workers {workers}"
            ) from error
        finally:
            for future in waiting:
                future.cancel()


def _encoded_chunk(settings: EncoderSettings, rows: list[SftRow]) -> list[Encoded]:
    encoder = _encoder(settings)
    return [encoder.encode(row) for row in rows]


@lru_cache(maxsize=1)
def _encoder(settings: EncoderSettings) -> Encoder:
    """A process makes it once."""
    return settings.make()
