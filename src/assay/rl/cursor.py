"""Which prompts a run draws, and in which order: pure, and small enough to be saved with every checkpoint.

Prompts have ordinals 0, 1, 2, … through all epochs; each epoch is a shuffle of the rows that follows from the seed and
the epoch alone. Prompts that were drawn and not trained on (a run that ended, over-sampling) are given back, and drawn
again before new ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError
from assay.core.seeds import derive_order, derive_seed
from assay.core.types import Json


@dataclass(slots=True, kw_only=True)
class Cursor:
    """``rows``: how many rows there are. ``shuffle``: False draws them in their own order, epoch after epoch."""

    rows: int
    seed: int = 0
    shuffle: bool = True
    next: int = 0
    returned: list[int] = field(default_factory=list[int])
    """A heap of ordinals that were given back."""
    _epoch: tuple[int, tuple[int, ...]] = (-1, ())

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InputError("there are no prompts to draw from")

    def draw(self, count: int) -> list[int]:
        """The next ordinals, ascending: those given back come first."""
        drawn = [heapq.heappop(self.returned) for _ in range(min(count, len(self.returned)))]
        fresh = count - len(drawn)
        self.next += fresh
        return drawn + list(range(self.next - fresh, self.next))

    def give_back(self, ordinals: Iterable[int]) -> None:
        """These were not used."""
        for ordinal in ordinals:
            heapq.heappush(self.returned, ordinal)

    def row(self, ordinal: int) -> int:
        """The row of the data that an ordinal stands for."""
        epoch, place = divmod(ordinal, self.rows)
        if not self.shuffle:
            return place
        if self._epoch[0] != epoch:
            order = derive_order(derive_seed("prompts", "", epoch, "epoch", base=self.seed), self.rows)
            self._epoch = (epoch, order)
        return self._epoch[1][place]

    def to_json(self, outstanding: Iterable[int] = ()) -> Json:
        """For a checkpoint; ``outstanding`` were drawn and not trained on yet: a resumed run draws them again."""
        returned: list[Json] = [*sorted({*self.returned, *outstanding})]
        return {"next": self.next, "returned": returned, "rows": self.rows}

    def restore(self, told: Any) -> None:
        """Take over what ``to_json`` wrote.

        Raises:
            InputError: the prompt data has another number of rows than the run had, so ordinals mean other prompts.
        """
        if told["rows"] != self.rows:
            raise InputError(
                f"the prompt data has {self.rows} usable rows, and the checkpoint's run had {told['rows']}: "
                "go on with the same data, or start a new run"
            )
        self.next, self.returned = int(told["next"]), [int(ordinal) for ordinal in told["returned"]]
        heapq.heapify(self.returned)
