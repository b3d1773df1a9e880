"""The steps of an answer, for ``--custom-steps-path``: a plan, a tool call and a final answer, each for its own judge.

``--step-judges`` says which judge reads which module, and under which route key. An agent framework that writes
``metadata["trajectory_steps"]`` itself needs no such function; those steps are taken as they are. Here the policy
writes all three in one answer, each under its label.
"""

from __future__ import annotations

import re
from typing import Any

MODULES = {
    "plan": "{question}\n\nWrite a short plan of how to work it out, and no numbers that are not given.",
    "tool_call": "{question}\n\nWrite the one expression that a calculator should work out for this.",
    "final_answer": "{question}",
}
"""Each module, and what it was asked: its judge sees this as the question."""

MISSING = "(nothing)"
"""Stands for a step that the answer lacks. It is judged, and badly: a policy may not skip what it is bad at."""

LABEL = re.compile(rf"^\s*({'|'.join(MODULES)})\s*:", re.MULTILINE)


def steps(args: Any, sample: Any) -> list[dict[str, Any]]:
    """One step for each module, whatever the answer looks like."""
    written = sample.metadata.get("trajectory_steps")
    if written:
        return written
    question, found = sample.metadata["question"], cut(sample.response)
    return [
        {
            "module": module,
            "prompt": asked.format(question=question),
            "response": found.get(module, MISSING),
            "label": sample.label,
        }
        for module, asked in MODULES.items()
    ]


def cut(answer: str) -> dict[str, str]:
    """Text under each label. A label that stands twice is still one step: more steps would be more reward."""
    _, *pieces = LABEL.split(answer)
    found: dict[str, list[str]] = {}
    for module, text in zip(pieces[::2], pieces[1::2], strict=True):
        if text.strip():
            found.setdefault(module, []).append(text.strip())
    return {module: "\n".join(texts) for module, texts in found.items()}
