"""For SGLang, whose reward route knows no chat template: prompts as token ids, by the model's own tokenizer.

Sent are ids, not text: the server would put a second BOS before a text whose template already wrote one. An id beyond
the vocabulary would end the server, so where the model's folder can be read ids are checked against it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.errors import GenerationError, InputError
from assay.core.types import ChatPrompt, FailureKind, TokenPrompt

from ..embedded.chat import Renderer
from ..sglang.model import ModelFiles, read_model


class Rendering:
    """One model's tokenizer. Loading one takes transformers and seconds: do it in a thread.

    Raises:
        InputError: there is no such tokenizer, it has no chat template, or transformers is not installed.
    """

    def __init__(self, name: str, template_kwargs: dict[str, Any]) -> None:
        self._kwargs = template_kwargs
        path = Path(name).expanduser()
        self._files: ModelFiles | None = read_model(path) if (path / "config.json").is_file() else None
        tokenizer = _load(name)
        self._renderer = Renderer(tokenizer, self._files.vocab_size if self._files else len(tokenizer))
        if not self._renderer.has_template:
            raise InputError(f"the tokenizer {name!r} has no chat template; name one that has, with tokenizer")

    def ids(self, prompt: ChatPrompt | TokenPrompt, context_len: int | None) -> tuple[int, ...]:
        """The token ids of a prompt. Raises GenerationError (bad_request, context_overflow)."""
        ids = self._renderer.whole_ids(prompt, self._kwargs)
        if self._files is not None:
            self._files.check_ids(ids)
        if context_len is not None and len(ids) >= context_len:
            detail = f"the prompt has {len(ids)} tokens and the context of the reward model is {context_len}"
            raise GenerationError(FailureKind.CONTEXT_OVERFLOW, detail)
        return ids


def _load(name: str) -> Any:
    fix = "set tokenizer to the folder or hub name of the model that the server runs"
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise InputError('prompts for SGLang are tokenized here: pip install "assay[embedded]"') from error
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"the tokenizer {name!r} cannot be loaded ({first}); {fix}") from error
