"""Prompts into token ids, through the tokenizer's own chat template; and a check, at load, that it is sane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Message, Prompt, TokenPrompt

_RESERVED = frozenset(
    {
        "add_generation_prompt",
        "chat_template",
        "continue_final_message",
        "conversation",
        "documents",
        "max_length",
        "messages",
        "padding",
        "return_assistant_tokens_mask",
        "return_dict",
        "return_tensors",
        "tokenize",
        "tokenizer_kwargs",
        "tools",
        "truncation",
    }
)
"""Arguments of the template call itself, which are not the template's own variables."""


class Renderer:
    """One tokenizer, used from one thread.

    Args:
        encode: what is asked for the ids of a text in place of the tokenizer, and answers the same.

    ``warnings``: what is odd about the chat template; empty for a sane one.
    """

    def __init__(self, tokenizer: Any, vocabulary: int, encode: Callable[[str], tuple[int, ...]] | None = None) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._backend = _backend(tokenizer)
        self._encode = encode or self._tokenized
        self.has_template = bool(tokenizer.chat_template)
        self.warnings: tuple[str, ...] = tuple(self._inspect())

    def ids(self, prompt: Prompt, template_kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        """The token ids of a prompt. Raises GenerationError (bad_request) for what this model cannot take."""
        if isinstance(prompt, ChatPrompt):
            return self._without_doubled_bos(self._encode(self._render(prompt.messages, template_kwargs)))
        if isinstance(prompt, TokenPrompt):
            strange = [t for t in prompt.token_ids if not 0 <= t < self._vocabulary]
            if strange or not prompt.token_ids:
                what = f"token id {strange[0]!r} is outside 0..{self._vocabulary - 1}" if strange else "no token ids"
                raise _bad(f"the token prompt is not usable: {what}")
            return prompt.token_ids
        raise _bad(f"an embedded model does not answer rules (got {prompt.rule!r}); use the rule engine")

    def whole_ids(self, prompt: ChatPrompt | TokenPrompt, template_kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        """The token ids of a conversation that ends with its last turn: nothing is to be generated. Raises as ``ids``.

        Raises:
            GenerationError: also where the chat template leaves the last turn out.
        """
        if isinstance(prompt, TokenPrompt):
            return self.ids(prompt, template_kwargs)
        text = self._render(prompt.messages, template_kwargs, generation=False)
        last = prompt.messages[-1].text.strip() if prompt.messages else ""
        if last not in text:
            raise _bad("the chat template leaves out (a part of) the last turn, so it could not be scored")
        return self._without_doubled_bos(self._encode(text))

    def reply_ids(self, text: str) -> tuple[int, ...]:
        """The token ids of a reply, as they follow a generation prompt.

        Encoded after a line break and read off behind it: some tokenizers put a space before the first word of a text.
        """
        lead, whole = self._encode("\n"), self._encode("\n" + text)
        return whole[len(lead) :] if whole[: len(lead)] == lead else self._encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of a reply; special tokens leave no trace."""
        if self._backend is not None:
            return cast("str", self._backend.decode(list(ids), skip_special_tokens=True))
        text = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return cast("str", text)

    def token_text(self, token: int) -> str:
        """Text of one token, special ones included."""
        return cast("str", self._tokenizer.decode([token], clean_up_tokenization_spaces=False))

    def _tokenized(self, text: str) -> tuple[int, ...]:
        # A template writes its special tokens itself; adding them again would double BOS.
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _render(
        self, messages: Sequence[Message], template_kwargs: Mapping[str, Any], *, generation: bool = True
    ) -> str:
        from jinja2 import TemplateError

        if not self.has_template:
            raise _bad("this model has no chat template: it is a base model. Name an instruct model, or send token ids")
        if taken := sorted(_RESERVED & template_kwargs.keys()):
            raise _bad(f"chat_template_kwargs may not set {taken[0]!r}")
        turns = [{"role": m.role, "content": _text(m)} for m in messages]
        try:
            text = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=generation, **dict(template_kwargs)
            )
        except (TemplateError, TypeError, ValueError, KeyError) as error:
            roles = [m.role for m in messages]
            raise _bad(f"the chat template refuses these messages (roles {roles!r}): {error}") from error
        return cast("str", text)

    def _without_doubled_bos(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        bos = self._tokenizer.bos_token_id
        while bos is not None and ids[:2] == (bos, bos):
            ids = ids[1:]
        return ids

    def _inspect(self) -> list[str]:
        if not self.has_template:
            return ["no chat template: only token prompts are answered"]
        try:
            text = self._render([Message(role="user", content="Hello")], {})
        except GenerationError as error:
            return [error.detail]
        found: list[str] = []
        ids, bos = self._encode(text), self._tokenizer.bos_token_id
        if ids != self._without_doubled_bos(ids):
            found.append("the template writes BOS twice; it is sent once")
        adds_bos = bos is not None and tuple(self._tokenizer("Hello")["input_ids"])[:1] == (bos,)
        if adds_bos and ids[:1] != (bos,):
            found.append("the tokenizer puts BOS before a text, the template does not")
        if "<think>" in text.rpartition("</think>")[2]:
            found.append(
                "the template opens <think> for the model: replies begin inside a thinking block, without its opening; "
                "chat_template_kwargs enable_thinking=false may turn it off"
            )
        return found


def _backend(tokenizer: Any) -> Any:
    """What decodes a fast tokenizer's text; None where Python code of a subclass has a say in it.

    The way through transformers takes twenty times as long, and every token of every row goes it.
    """
    from transformers import PreTrainedTokenizerFast

    plain: Any = PreTrainedTokenizerFast
    own = type(tokenizer)
    whole = isinstance(tokenizer, plain) and own.decode is plain.decode and own._decode is plain._decode
    return tokenizer.backend_tokenizer if whole else None


def _text(message: Message) -> str:
    if not isinstance(message.content, str):
        for part in message.content:
            if (kind := part.get("type")) != "text":
                raise _bad(
                    f"a text model takes no content part of type {kind!r}; send text, or use an engine with images"
                )
    return message.text


def _bad(detail: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, detail)
