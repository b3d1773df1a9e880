"""Rows into token ids and a mask, in the pieces that an engine would see: the prompt as it is rendered for an answer,
and the answer as it would be generated, up to the token that ends it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import TemplateError

from assay.core.errors import InputError
from assay.core.types import Message
from assay.engines.embedded.chat import Renderer

from ..batch import TrainSequence
from .lines import LineTokenizer
from .rows import SftRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """One example: its tokens, how many of them nobody learns at the start, and which of the others are learned."""

    ids: array[int]
    prompt: int
    mask: bytes
    """A byte for each token behind the prompt: 1 where it is learned."""
    weight: float = 1.0
    held: bool = False
    """Whether it is held out."""

    def sequence(self, opening: int = 0) -> TrainSequence:
        """For the trainer. ``opening``: tokens that go as the prompt, where that is shared with other rows."""
        start = min(opening or self.prompt, self.prompt)
        return TrainSequence(
            prompt_ids=tuple(self.ids[:start]),
            response_ids=tuple(self.ids[start:]),
            loss_mask=(False,) * (self.prompt - start) + tuple(map(bool, self.mask)),
        )


class Encoder:
    """Encodes rows for one tokenizer.

    Args:
        ends: ids that end an answer; the first one is put behind answers that the template does not end.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        vocabulary: int,
        ends: Sequence[int],
        apply_chat_template: bool = True,
        train_on: Literal["last", "all"] = "last",
    ) -> None:
        self._tokenizer, self._ends = tokenizer, tuple(ends)
        self._lines = LineTokenizer(tokenizer)
        self._renderer = Renderer(tokenizer, vocabulary, self._lines.ids)
        self._vocabulary = vocabulary
        self._chat, self._train_on = apply_chat_template, train_on
        if not self._ends:
            raise InputError("the tokenizer names no token that ends a text (eos_token): name one in its files")

    def encode(self, row: SftRow) -> Encoded:
        """Raises InputError: the chat template cannot render the row as it would before the answer."""
        ids, mask = array("i"), bytearray()
        for text, learned in self._pieces(row):
            piece = self._ids(text, first=not ids)
            if learned:
                trained, rest = self._ended(piece)
                ids.extend((*trained, *rest))
                mask += b"\1" * len(trained) + b"\0" * len(rest)
            else:
                ids.extend(piece)
                mask += b"\0" * len(piece)
        # Nothing follows what is behind the last token that is learned.
        length = mask.rfind(b"\1") + 1
        prompt = mask.find(b"\1")
        if prompt < 1:
            raise InputError(f"{row.where}: nothing stands before the first token to learn, so nothing predicts it")
        if max(ids) >= self._vocabulary:
            raise InputError(f"{row.where}: token id {max(ids)} is outside the model's {self._vocabulary}")
        return Encoded(ids=ids[:length], prompt=prompt, mask=bytes(mask[prompt:length]), weight=row.weight)

    def _pieces(self, row: SftRow) -> Iterator[tuple[str, bool]]:
        """Texts in order, each with whether it is learned."""
        if isinstance(row.prompt, str) and not self._chat:
            yield from ((row.prompt, False), (row.completion, True))
            return
        prompt = (Message(role="user", content=row.prompt),) if isinstance(row.prompt, str) else row.prompt
        turns = (*prompt, Message(role="assistant", content=row.completion))
        answers = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
        done = ""
        for place in answers if self._train_on == "all" else answers[-1:]:
            before = self._rendered(turns[:place], row, generation=True)
            until = self._rendered(turns[: place + 1], row, generation=False)
            if not before.startswith(done) or not until.startswith(before):
                raise InputError(
                    f"{row.where}: the chat template renders a conversation in another way once it has gone on (it may "
                    "take thinking off earlier turns), so its tokens are not those that the model would see; "
                    "train_on 'last' asks less of it"
                )
            yield before[len(done) :], False
            yield until[len(before) :], True
            done = until

    def _rendered(self, turns: Sequence[Message], row: SftRow, *, generation: bool) -> str:
        if not self._tokenizer.chat_template:
            raise InputError(
                f"{row.where}: the model has no chat template: give text prompts and --no-apply-chat-template"
            )
        shown = [{"role": turn.role, "content": turn.text} for turn in turns]
        try:
            return self._tokenizer.apply_chat_template(shown, tokenize=False, add_generation_prompt=generation)
        except (TemplateError, TypeError, ValueError, KeyError) as error:
            raise InputError(f"{row.where}: the chat template refuses the conversation: {error}") from error

    def _ids(self, text: str, *, first: bool) -> tuple[int, ...]:
        if not first:
            return self._renderer.reply_ids(text)
        ids = self._lines.ids(text)
        bos = self._tokenizer.bos_token_id
        return ids[1:] if bos is not None and ids[:2] == (bos, bos) else ids

    def _ended(self, ids: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What is learned of an answer, its end token included, and what the template writes behind it."""
        last = next((place for place in reversed(range(len(ids))) if ids[place] in self._ends), None)
        return ((*ids, self._ends[0]), ()) if last is None else (ids[: last + 1], ids[last + 1 :])
