"""The policy's tokens: prompts rendered once, here, so that the trainer trains on the very tokens the engine sampled.

Owns: the protocol, and the tokenizer of a transformers model behind it, loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from assay.core.errors import InputError
from assay.core.types import Message

from .sample import PromptText


class PolicyTokenizer(Protocol):
    """Text to token ids and back."""

    def render(self, prompt: PromptText) -> tuple[int, ...]:
        """The ids of a prompt; a conversation ends where the policy's answer begins.

        Raises:
            InputError: a conversation, and the policy has no chat template, or one that refuses it.
        """
        ...

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of a text in the middle of others: no special tokens are added."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special tokens leave no trace."""
        ...


class HfTokenizer:
    """The tokenizer of a transformers model. May be used from one event loop."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def render(self, prompt: PromptText) -> tuple[int, ...]:
        if isinstance(prompt, str):
            return self.encode(prompt)
        return self.encode(self._templated(prompt))

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def _templated(self, turns: Sequence[Message]) -> str:
        # Comes with the extras that train, as the tokenizer does.
        from jinja2 import TemplateError

        if not self._tokenizer.chat_template:
            raise InputError("the policy's tokenizer has no chat template: give text prompts, without chat lists")
        shown = [{"role": turn.role, "content": turn.text} for turn in turns]
        try:
            return self._tokenizer.apply_chat_template(shown, tokenize=False, add_generation_prompt=True)
        except (TemplateError, TypeError, ValueError, KeyError) as error:
            roles = [turn.role for turn in turns]
            raise InputError(f"the policy's chat template refuses the conversation (roles {roles}): {error}") from error


def load_tokenizer(model: str, *, trust_remote_code: bool = False) -> HfTokenizer:
    """The tokenizer of the bundled model, of a folder, or of a hub name.

    Raises:
        InputError, StartError: there is no such model, or it has no tokenizer.
    """
    from transformers import AutoTokenizer

    from assay.engines.embedded.finding import find_model
    from assay.engines.embedded.loading import explained

    path = find_model(model, with_code=trust_remote_code)
    with explained(model, path):
        return HfTokenizer(AutoTokenizer.from_pretrained(str(path), trust_remote_code=trust_remote_code))
