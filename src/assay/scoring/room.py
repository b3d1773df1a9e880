"""Whether a reply of the length that the user allows has room in the model's context, behind its prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from assay.core.errors import InputError
from assay.core.types import Completion, Request
from assay.engines.base import EngineInfo

log = logging.getLogger(__name__)


class Room:
    """``most``: the limit that the user said, in tokens; None: nothing was said, and nothing is looked at."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._told = False

    def check(self, info: EngineInfo) -> None:
        """Look at the model once it is known.

        Raises:
            InputError: not even a prompt of one token would leave room.
        """
        if self._most is not None and info.context_len is not None and self._most >= info.context_len:
            raise InputError(
                f"max_new_tokens {self._most} can never fit: {info.model!r} takes {info.context_len} tokens, prompt "
                f"and reply together; say at most {info.context_len - 1}, less what a prompt needs"
            )

    def look(self, info: EngineInfo, requests: Sequence[Request], completions: Sequence[Completion]) -> None:
        """Say, the first time, that a prompt left less room than was said. An engine that refuses it says so itself."""
        if self._told or self._most is None or info.context_len is None:
            return
        read = {one.id for one in requests if one.choices is not None}
        prompt = max((one.prompt_tokens for one in completions if one.request_id not in read), default=0)
        if prompt and prompt + self._most > info.context_len:
            self._told = True
            log.warning(
                "max_new_tokens %d does not fit behind a prompt of %d tokens: %r takes %d together, so its reply was "
                "cut off after %d at the latest (said once)",
                *(self._most, prompt, info.model, info.context_len, info.context_len - prompt),
            )
