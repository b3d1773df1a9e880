"""Examples of heads as token ids, and what became of the data that gives none. No torch here."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import GenerationError, InputError
from assay.core.seeds import digest
from assay.core.types import ChatPrompt, Item, Json
from assay.engines.embedded.chat import Renderer

from ..batch import TrainSequence


@dataclass(frozen=True, slots=True, kw_only=True)
class PairExample:
    """A better and a worse text of one prompt."""

    chosen: array[int]
    rejected: array[int]
    margin: float
    prompt: Json
    """What both answer: examples of one prompt are held out together."""

    @property
    def texts(self) -> tuple[array[int], ...]:
        return self.chosen, self.rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledExample:
    """A text that is right (1) or wrong (0)."""

    ids: array[int]
    label: float
    prompt: Json

    @property
    def texts(self) -> tuple[array[int], ...]:
        return (self.ids,)


@dataclass(slots=True, kw_only=True)
class Taken:
    """Examples of one kind, and why others are none."""

    pairs: list[PairExample] = field(default_factory=list[PairExample])
    labelled: list[LabelledExample] = field(default_factory=list[LabelledExample])
    left_out: Counter[str] = field(default_factory=Counter[str])


class TextEncoder:
    """Prompts into ids, as the reward engines render them.

    Args:
        longest: most tokens of a text.
    """

    def __init__(self, tokenizer: Any, *, vocabulary: int, longest: int) -> None:
        self._renderer = Renderer(tokenizer, vocabulary)
        self._longest = longest
        if not self._renderer.has_template:
            raise InputError("the model has no chat template, and a reward model reads conversations: name another one")

    def encode(self, prompt: ChatPrompt, where: str) -> array[int] | None:
        """The ids; None for a text that is too long. Raises InputError: the template refuses the conversation."""
        try:
            ids = self._renderer.whole_ids(prompt, {})
        except GenerationError as error:
            raise InputError(f"{where}: {error.detail}") from error
        return None if len(ids) > self._longest else array("i", ids)


def prompt_of(item: Item) -> Json:
    """What the candidates of an item answer, as a hash can take it."""
    return digest([[message.role, message.text] for message in item.messages])


def pair_sequences(example: PairExample, group: int) -> tuple[TrainSequence, TrainSequence]:
    """Both texts as continuations of what they begin with alike, so that it is computed once.

    Raises:
        InputError: they begin differently at once, which no chat template does.
    """
    chosen, rejected = example.chosen, example.rejected
    shared = next(
        (place for place, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b),
        min(len(chosen), len(rejected)),
    )
    if not shared:
        raise InputError("two texts about one prompt begin with different tokens: is the chat template a template?")
    return text_sequence(chosen, shared, group), text_sequence(rejected, shared, group)


def text_sequence(ids: array[int], prompt: int, group: int) -> TrainSequence:
    """A text whose last token's state is read: one made-up token follows it, which is predicted and never seen."""
    rest = tuple(ids[prompt:])
    return TrainSequence(
        prompt_ids=tuple(ids[:prompt]),
        response_ids=(*rest, 0),
        loss_mask=(False,) * len(rest) + (True,),
        group=group,
    )


def last_tokens(taken: Taken) -> Iterator[int]:
    """What the texts end in."""
    for example in (*taken.pairs, *taken.labelled):
        yield from (text[-1] for text in example.texts)
