"""``JudgeOptions``: what a command line, a service or a recipe may say about a built-in judge.

Owns: the options and the refusal of those that a judge does not have. Does not own: what they mean (each judge).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from assay.core.config import Config
from assay.core.errors import InputError

from .scores import Mode
from .shield import Language


class JudgeOptions(Config):
    """Options of judges. One that is not at its default is refused by a judge that does not have it."""

    lenient: bool = False
    """Forgive how a verdict is written (bold, full-width digits, ...); such verdicts are flagged."""
    choices: bool = False
    """Read the log-probs of the labels instead of a text."""
    min_mass: Annotated[float, Field(ge=0, le=1)] = 0.1
    """With ``choices``: the least common probability of the labels; below it the verdict is refused."""
    labels: tuple[str, str] = ("1", "0")
    """The replies of the verifier for a match and for no match."""
    mode: Mode = "1-10"
    """The scale of the pointwise judge; ``0-1`` judges a single candidate."""
    reference: bool = True
    """Show the item's reference to the pointwise judge, where the item has one."""
    language: Language = "en"
    """The language of the judge's prompt."""

    def of(self, known: Collection[str]) -> JudgeOptions:
        """These options without those that are not among ``known``."""
        return JudgeOptions(**{key: value for key, value in self.model_dump().items() if key in known})

    def only(self, judge: str, *known: str) -> None:
        """Refuse what is set but not among the ``known`` options of ``judge``.

        Raises:
            InputError: names the option, its value and the options that there are.
        """
        for key, field in type(self).model_fields.items():
            value: object = self.model_dump()[key]
            if key not in known and value != field.default:
                has = f"it has {', '.join(known)}" if known else "it has no options"
                raise InputError(f"judge {judge!r} has no option {key!r} (got {value!r}); {has}")
