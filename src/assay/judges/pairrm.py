"""What a pair RM is shown: the conversation and two responses, in one input, to which it answers with one logit.

DeepSeek-GRM eq. 5: a positive logit prefers the first response, a negative one the second, 0 the first. Owns: that
prompt. Does not own: the reading (``voting.correct.pair_choice``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.core.types import ChatPrompt, Item, Message

from .identity import identify
from .shield import Language, block, conversation_block
from .template import conversation, fill, load_prompt, need_candidates

NAME = "pairrm"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPrompt:
    """Builds the prompt of one pair. ``asks``: name plus a hash of all that shapes it (compare ``Judge.asks``)."""

    language: Language = "en"
    template: str = field(init=False, repr=False)
    asks: str = field(init=False)

    def __post_init__(self) -> None:
        template = load_prompt(NAME, self.language)
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "asks", identify(NAME, asked=[template, self.language]).asks)

    def build(self, item: Item, first: int, second: int) -> ChatPrompt:
        """One user turn with two candidates of the item, by their indices, in the order given.

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
                    for place, index in enumerate((first, second), 1)
                ),
            },
        )
        return ChatPrompt(messages=(Message(role="user", content=shown),))
