"""A stream of server-sent events, and the chunks of a chat completion in it, as deltas. Pure: bytes in, deltas out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Delta

from .alternatives import read_places
from .failures import broken
from .reply import finish_reason, read_ids


class EventReader:
    """Cuts bytes into the data of events; a piece may end anywhere."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of every event that ``piece`` completes."""
        self._unread += piece
        *lines, self._unread = self._unread.split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8", "replace").removesuffix("\r")
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif not line and self._data:
                yield "\n".join(self._data)
                self._data.clear()


@dataclass(slots=True)
class _Sample:
    """How far one sample has come."""

    thinking: bool = False
    finished: bool = False

    def marked(self, thought: str, content: str) -> str:
        """What the text grows by, with thinking between its marks."""
        text = ""
        if thought:
            text += ("" if self.thinking else "<think>") + thought
            self.thinking = True
        if content:
            text += "</think>" if self.thinking else ""
            self.thinking = False
        return text + content


class ChunkReader:
    """Turns the events of one streamed reply into deltas; knows when all samples are finished."""

    def __init__(self, n: int) -> None:
        self._samples = [_Sample() for _ in range(n)]

    def read(self, event: str) -> Iterator[Delta]:
        """The deltas of one event. Raises GenerationError for an error that the server reports, or nonsense."""
        if event == "[DONE]":
            return
        try:
            chunk: Any = json.loads(event)
        except ValueError as error:
            raise broken(f"an event that is not JSON: {event!r:.120}") from error
        if not isinstance(chunk, dict) or chunk.get("error"):
            raise GenerationError(FailureKind.ENGINE_ERROR, f"the server broke off the stream: {event!r:.300}")
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            delta = self._delta(choice)
            if delta.text or delta.token_ids or delta.finish_reason:
                yield delta

    def end(self) -> None:
        """The stream is over. Raises GenerationError when it ended early."""
        missing = [index for index, sample in enumerate(self._samples) if not sample.finished]
        if missing:
            detail = f"the stream ended before samples {missing} of {len(self._samples)} were finished"
            raise GenerationError(FailureKind.ENGINE_ERROR, detail)

    def _delta(self, choice: Any) -> Delta:
        if not isinstance(choice, dict) or not isinstance(index := choice.get("index", 0), int):
            raise broken(f"a choice of a chunk is {choice!r:.120}")
        if not 0 <= index < len(self._samples):
            raise broken(f"a choice has index {index}, {len(self._samples)} were asked for")
        sample = self._samples[index]
        given = choice.get("delta")
        said = given if isinstance(given, dict) else {"content": choice.get("text")}
        thought = said.get("reasoning_content") or said.get("reasoning")
        text = sample.marked(str(thought or ""), str(said.get("content") or ""))
        reason = None
        if choice.get("finish_reason") is not None:
            reason = finish_reason(choice["finish_reason"])
            sample.finished = True
            if sample.thinking and reason != "length":
                text += "</think>"
        ids, places = read_ids(choice.get("token_ids")), read_places(choice.get("logprobs"))
        return Delta(
            index=index,
            text=text,
            token_ids=ids,
            logprobs=tuple(place.sampled.logprob for place in places) if len(ids) == len(places) > 0 else None,
            finish_reason=reason,
        )
