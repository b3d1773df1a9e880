"""What became of each sample, and of each item: eq. 10 of DeepSeek-GRM, and the rejection of what is too easy. Pure.

A sample without a text (a timeout, an engine that broke) says nothing about its item: it is neither wrong nor right.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from assay.core.types import FailureKind
from assay.data import ResultRow
from assay.voting.correct import reward

OF_THE_TEXT = frozenset({FailureKind.PARSE_ERROR, FailureKind.TRUNCATED, FailureKind.REFUSED, FailureKind.LOW_MASS})
"""Failures of the text itself; with any other there is no text to be right or wrong."""


class Fate(StrEnum):
    """What became of a sample. Only a right one is trained on."""

    RIGHT = "right"
    WRONG = "wrong"
    UNREADABLE = "unreadable"
    """The text holds no verdict."""
    CUT_OFF = "cut off"
    """It holds a verdict, and no end that could be learned."""
    FAILED = "failed"
    """There is no text."""


class Standing(StrEnum):
    """What becomes of an item."""

    OPEN = "open"
    TOO_EASY = "too easy"
    """Every sample is right."""
    UNFINISHED = "unfinished"
    """Every text is right, if there is one, and some are missing: it may be too easy."""


def fate(row: ResultRow, gold: Sequence[float]) -> Fate:
    """What became of a recorded sample, whatever gold was recorded with it."""
    if not row.completions or (not row.ok and row.outcome not in OF_THE_TEXT):
        return Fate.FAILED
    if not row.ok:
        return Fate.UNREADABLE
    if reward(row.ranking, gold) < 0:
        return Fate.WRONG
    return Fate.RIGHT if row.completions[-1]["finish_reason"] == "stop" else Fate.CUT_OFF


def standing(fates: Sequence[Fate]) -> Standing:
    """What becomes of an item whose samples without a hint had these fates."""
    said = [one for one in fates if one is not Fate.FAILED]
    if any(one is not Fate.RIGHT for one in said):
        return Standing.OPEN
    return Standing.TOO_EASY if said and len(said) == len(fates) else Standing.UNFINISHED
