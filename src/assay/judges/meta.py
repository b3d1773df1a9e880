"""What the meta RM is shown: the judged item as a short request to score, and the judge's whole text as the reply.

The meta RM (DeepSeek-GRM) is a scalar model that tells good judgments from bad ones. To leave it context, it sees no
criteria and no rules of output. Owns: that prompt. Does not own: which votes are asked about, and what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.core.seeds import digest
from assay.core.types import ChatPrompt, Item, Message

from .identity import identify
from .shield import Language, block, conversation_block, defuse
from .template import conversation, fill, load_prompt, need_candidates

NAME = "meta"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaPrompt:
    """Builds the prompt of one vote. ``asks``: name plus a hash of all that shapes it (compare ``Judge.asks``)."""

    language: Language = "en"
    template: str = field(init=False, repr=False)
    asks: str = field(init=False)

    def __post_init__(self) -> None:
        template = load_prompt(NAME, self.language)
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "asks", identify(NAME, asked=[template, self.language]).asks)

    def build(self, item: Item, order: Sequence[int], text: str) -> ChatPrompt:
        """A user turn and an assistant turn.

        Args:
            order: indices of the candidates as the judge saw them (``Draw.order``): "response 2" in its text is the
                second one here too.
            text: all that the judge wrote, thinking included. Control tokens are rewritten, so that it cannot end its
                turn and no chat template takes its thinking off; the boxes stay.

        Raises:
            InputError: the item has no messages, no candidates, or a message that is not text.
        """
        need_candidates(item, judge=NAME)
        shown = fill(
            self.template,
            {
                "conversation": conversation_block(conversation(item), language=self.language),
                "candidates": "\n\n".join(
                    block("response", item.candidates[index].text, index=place, language=self.language)
                    for place, index in enumerate(order, 1)
                ),
            },
        )
        return ChatPrompt(
            messages=(Message(role="user", content=shown), Message(role="assistant", content=defuse(text)))
        )


def prompt_hash(prompt: ChatPrompt) -> str:
    """The hash of a prompt of text."""
    return digest([[message.role, message.text] for message in prompt.messages])
