"""How much of what is measured was trained on: the very prompts, whatever their form or language."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from assay.core.types import ChatPrompt, Draw
from assay.judges import Judge
from assay.judges.pointwise import PointwiseJudge
from assay.judges.verifier import VerifierJudge

from .sets import Measured

_VERIFIERS = tuple(
    VerifierJudge(language=language, forms=forms) for language in ("en", "zh") for forms in (False, True)
)
_ORDERS = {1: ((0,),), 2: ((0, 1), (1, 0))}


def trained_prompts(file: Path) -> set[bytes]:
    """Digests of the prompts of a file of training rows (``assay data generate --judge``), for millions of rows."""
    with file.open(encoding="utf-8") as rows:
        return {_digest((turn["role"], turn["content"]) for turn in json.loads(row)["prompt_messages"]) for row in rows}


def leaked(measured: Sequence[Measured], trained: set[bytes]) -> int:
    """How many of the items have a prompt among the ``trained``: in either language, with normal forms or without,
    pairs in either order."""
    return sum(any(prompt in trained for prompt in _prompts(one)) for one in measured)


def leaks(found: Mapping[str, Sequence[Measured]], trained: set[bytes]) -> dict[str, int]:
    """``leaked`` for each set."""
    return {name: leaked(measured, trained) for name, measured in found.items()}


def _prompts(one: Measured) -> Iterable[bytes]:
    judges: Sequence[Judge] = _VERIFIERS if one.item.n == 1 else (PointwiseJudge(), PointwiseJudge(language="zh"))
    for judge in judges:
        for order in _ORDERS[one.item.n]:
            prompt = judge.plan(one.item, Draw(vote=0, seed=0, order=order))[0].prompt
            assert isinstance(prompt, ChatPrompt)
            yield _digest((message.role, message.text) for message in prompt.messages)


def _digest(turns: Iterable[tuple[str, str]]) -> bytes:
    return sha256("\0".join(f"{role}\0{text}" for role, text in turns).encode("utf-8", "surrogatepass")).digest()
