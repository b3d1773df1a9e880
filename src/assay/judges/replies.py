"""What reward models of a single answer are shown: the conversation with the answer as its reply; for CLoud, a request
for feedback behind it, and the critique as the reply to that.

Owns: those prompts. Does not own: who writes critiques, and what the logits are for.
"""

from __future__ import annotations

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Item, Message

from .shield import Language, defuse
from .template import conversation, load_prompt

CLOUD = "cloud"


def reply_prompt(item: Item, index: int) -> ChatPrompt:
    """The conversation, and a candidate as the assistant's reply; what could end its turn is rewritten.

    Raises:
        InputError: the item has no messages, or one that is not text.
    """
    conversation(item)
    reply = Message(role="assistant", content=defuse(item.candidates[index].text))
    return ChatPrompt(messages=(*item.messages, reply))


def critique_request(item: Item, index: int, *, language: Language = "en") -> ChatPrompt:
    """``reply_prompt`` and a request for feedback: what a critic answers.

    Raises:
        InputError: as there.
    """
    asked = Message(role="user", content=load_prompt(CLOUD, language))
    return ChatPrompt(messages=(*reply_prompt(item, index).messages, asked))


def critique_prompt(item: Item, index: int, critique: str, *, language: Language = "en") -> ChatPrompt:
    """``critique_request``, and the critique as the reply to it.

    Raises:
        InputError: as there; the critique is blank.
    """
    if not critique.strip():
        raise InputError(f"item {item.id!r} has a blank critique of candidate {index}")
    said = Message(role="assistant", content=defuse(critique))
    return ChatPrompt(messages=(*critique_request(item, index, language=language).messages, said))
