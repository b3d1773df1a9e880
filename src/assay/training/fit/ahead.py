"""What the next update needs, made by a thread while the device works on this one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """``make(number)`` for numbers that follow each other, each begun when the one before it is taken.

    Args:
        make: called by one thread at a time; its errors are raised by ``take``.
        more: whether there is such a number.
        begin: begin ahead at all; where the thread would only take the processor from the work itself, it does not.
    """

    def __init__(self, make: Callable[[int], T], more: Callable[[int], bool], *, begin: bool) -> None:
        self._make, self._more = make, more
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="assay-ahead") if begin else None
        self._begun: tuple[int, Future[T]] | None = None

    def take(self, number: int) -> T:
        """What is made of this number."""
        if self._pool is None:
            return self._make(number)
        begun = self._begun
        future = begun[1] if begun is not None and begun[0] == number else self._pool.submit(self._make, number)
        made = future.result()
        self._begun = (number + 1, self._pool.submit(self._make, number + 1)) if self._more(number + 1) else None
        return made

    def close(self) -> None:
        """End the thread; what it has begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
