"""How a command that judges ends: one rule for every verb, so that a script can tell what came of it."""

from __future__ import annotations

import sys


def exit_code(*, skipped: bool, made: int) -> int:
    """0: done; failed judgments are results. 1: done, but some input was skipped, each named, or nothing came of it.

    Args:
        skipped: whether some input could not be read, or not be taken by the judge.
        made: what the command is for, as far as it came of it: verdicts, answers that count, rows.
    """
    return 1 if skipped or not made else 0


def end(*, skipped: bool, made: int) -> None:
    """End the process where the exit code is not 0."""
    code = exit_code(skipped=skipped, made=made)
    if code:
        sys.exit(code)
