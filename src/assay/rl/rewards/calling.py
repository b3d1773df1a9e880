"""Calls of a function of the user's: in the event loop where it is async, else in a thread, always within a deadline.

The one place where what it raises becomes a typed failure. Does not own what it returns (``returned``).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
import traceback
from collections.abc import Callable
from typing import Any

from assay.client.default import genrm_url, get_genrm_client
from assay.client.errors import GenRMError
from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError
from assay.core.types import Failure, FailureKind

from .loading import UserCall

log = logging.getLogger(__name__)

_SAME_FOR_ALL = frozenset({401, 403, 404, 405})
"""Refusals of the judge service that every further call would get: no right, no such route key."""


class UserFunction:
    """A function of the user's. ``url``: the judge service that ``get_genrm_client()`` means in it.

    ``threads``: how many calls of one that is not async run at a time. A call that hangs gives up its place at the
    deadline; its thread cannot be stopped, and does not keep the process from ending.
    """

    def __init__(self, function: UserCall, name: str, *, threads: int = 16, url: str | None = None) -> None:
        self.name = name
        self._function = function
        self._url = url
        self._places = asyncio.Semaphore(threads)
        self._shown = False

    async def call(self, *arguments: Any, deadline: Deadline) -> Any:
        """What the function returned, or the ``Failure`` that it came to.

        Raises:
            InputError: the function raised one, or the service refuses what it would refuse of every call.
        """
        try:
            async with asyncio.timeout(deadline.timeout):
                with genrm_url(self._url):
                    return await self._called(arguments)
        except TimeoutError as error:
            detail = f"{self.name}: {error}" if str(error) else f"{self.name} had not returned when the deadline passed"
            return Failure(kind=FailureKind.TIMEOUT, detail=detail)
        except GenRMError as error:
            if error.status in _SAME_FOR_ALL:
                raise InputError(f"{self.name}: the judge service refuses: {error}") from error
            return error.failure()
        except GenerationError as error:
            return error.failure()
        except AssayError:
            raise
        except Exception as error:  # noqa: BLE001 - the user's code costs a sample, not the run; the budget counts
            return self._raised(error)

    async def close(self) -> None:
        """Close the client that the function may have used in this event loop."""
        with genrm_url(self._url):
            await get_genrm_client().close()

    async def _called(self, arguments: tuple[Any, ...]) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(*arguments)
        async with self._places:
            returned = await in_thread(lambda: self._function(*arguments))
        return await returned if inspect.isawaitable(returned) else returned

    def _raised(self, error: Exception) -> Failure:
        if not self._shown:
            self._shown = True
            log.warning("%s raised; later ones are only counted", self.name, exc_info=error)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        detail = f"{self.name} raised {type(error).__name__}: {error} ({where})"
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)


async def in_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work``, run in a daemon thread of its own in the context of the caller."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = context.run(work)
        except (StopIteration, SystemExit) as stop:  # neither may reach the event loop
            error = RuntimeError(f"{type(stop).__name__}: {stop}")
        except BaseException as raised:  # noqa: BLE001 - raised again by whoever waits
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is over: nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="reward function", daemon=True).start()
    return await done
