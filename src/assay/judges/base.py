"""What a judge is: two pure functions and a few facts.

No judge reads a file, a clock, a socket or a global generator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.core.seeds import digest
from assay.core.types import Completion, Draw, Item, Json, Outcome, Reduce, Request


class Judge(Protocol):
    """A way to turn an item into requests, and the completions into a verdict.

    ``name``: what the user calls it. ``asks``: name plus a hash of all that shapes its requests (prompt, labels, what
    is shown); seeds and cached texts follow from it. ``identity``: name plus a hash of everything that shapes its
    verdicts (``asks`` and the parser); it goes into records. ``rule``: answered by the rule engine, not by
    a model. ``per_candidate``: looks at one candidate at a time, so an item with n candidates is n judgments.
    ``reduce``: how its votes become one unless the user says otherwise; ``majority`` = it names the best candidate and
    gives no scores. ``scale``: the least and the highest score it can give; None where it gives none or has no bounds.
    """

    @property
    def name(self) -> str: ...
    @property
    def asks(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def rule(self) -> bool: ...
    @property
    def per_candidate(self) -> bool: ...
    @property
    def reduce(self) -> Reduce: ...
    @property
    def scale(self) -> tuple[float, float] | None: ...

    def content(self, item: Item) -> Mapping[str, Json]:
        """All that this judge looks at in the item, and nothing else (the verifier: question, reference, final answer).

        Equal contents give equal plans for equal draws: seeds, the verdict cache and de-duplication stand on this.

        Raises:
            InputError: the item lacks what the judge needs (a reference, a candidate); the message names the field.
        """
        ...

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        """The requests to ask, candidates shown in ``draw.order``. Request ids are ``<draw.seed>-<index>``."""
        ...

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        """The verdict, with the order undone; a ``Failure`` when the text holds none. Never raises, never guesses."""
        ...


def content_hash(judge: Judge, item: Item) -> str:
    """The hash of what ``judge`` looks at in ``item``."""
    return digest(dict(judge.content(item)))
