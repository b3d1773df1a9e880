"""A stream of the native route as deltas. Pure. (The chat route streams as OpenAI does, and is read where that is.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Delta

from ..openai.reply import finish_reason
from .failures import malformed
from .reply import numbers


class StreamReader(Protocol):
    """Events of one streamed reply in, deltas out."""

    def read(self, event: str) -> Iterator[Delta]:
        """The deltas of one event. Raises GenerationError."""
        ...

    def end(self) -> None:
        """The stream is over. Raises GenerationError: before all samples were finished."""
        ...


@dataclass(slots=True)
class _Sample:
    """How much of one sample has been handed out."""

    text: int = 0
    tokens: int = 0
    finished: bool = False


class NativeReader:
    """Reads ``/generate``: every event holds the whole of one sample so far. See ``StreamReader``."""

    def __init__(self, n: int) -> None:
        self._samples = [_Sample() for _ in range(n)]

    def read(self, event: str) -> Iterator[Delta]:
        """See ``StreamReader.read``."""
        if event == "[DONE]":
            return
        try:
            data: Any = json.loads(event)
        except ValueError as error:
            raise malformed(f"an event that is not JSON: {event!r:.120}") from error
        if not isinstance(data, dict) or data.get("error"):
            raise GenerationError(FailureKind.ENGINE_ERROR, f"SGLang broke off the stream: {event!r:.300}")
        index, text, ids, meta = data.get("index", 0), data.get("text"), data.get("output_ids"), data.get("meta_info")
        if not (isinstance(text, str) and isinstance(ids, list) and isinstance(meta, dict)):
            raise malformed(f"an event without text, ids or meta information: {event!r:.120}")
        if not isinstance(index, int) or not 0 <= index < len(self._samples):
            raise malformed(f"an event for sample {index!r}, {len(self._samples)} were asked for")
        yield self._delta(index, text, cast("list[int]", ids), cast("dict[str, Any]", meta))

    def end(self) -> None:
        """See ``StreamReader.end``."""
        missing = [index for index, sample in enumerate(self._samples) if not sample.finished]
        if missing:
            detail = f"the stream ended before samples {missing} of {len(self._samples)} were finished"
            raise GenerationError(FailureKind.ENGINE_ERROR, detail)

    def _delta(self, index: int, text: str, ids: list[int], meta: dict[str, Any]) -> Delta:
        sample, reason = self._samples[index], meta.get("finish_reason")
        finish = finish_reason(reason.get("type")) if isinstance(reason, dict) else None
        logprobs = None
        if isinstance(found := meta.get("output_token_logprobs"), list) and len(found) >= len(ids):
            places = [numbers(entry) for entry in cast("list[Any]", found)[sample.tokens : len(ids)]]
            logprobs = tuple(logprob for logprob, _, _ in places)
        delta = Delta(
            index=index,
            text=text[sample.text :],
            token_ids=tuple(ids[sample.tokens :]),
            logprobs=logprobs,
            finish_reason=finish,
        )
        sample.text, sample.tokens = max(sample.text, len(text)), max(sample.tokens, len(ids))
        sample.finished = finish is not None
        return delta
