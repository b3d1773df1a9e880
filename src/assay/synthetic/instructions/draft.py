"""A text in the making: demands shape it before it is written out. Owns the parts of a text and how they are joined."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..draws import Draws
from .prose import opener, sentence

Layout: TypeAlias = Literal["prose", "bullets", "numbers"]
Casing: TypeAlias = Literal["", "lower", "upper"]

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_CHARACTER = re.compile(r"[\u4e00-\u9fff]")


@dataclass(slots=True)
class Draft:
    """``sentences``: words of each. ``opening``, ``closing``: stand before and after all else, as they are."""

    draws: Draws
    sentences: list[list[str]]
    layout: Layout = "prose"
    paragraphs: int = 1
    opening: str = ""
    closing: str = ""
    commas: bool = True
    casing: Casing = ""
    quoted: bool = False
    highlights: int = 0
    whole: str | None = None
    """Stands for everything else: a text that is no prose."""

    def text(self) -> str:
        """The text as it is answered."""
        body = self.whole if self.whole is not None else self._joined()
        if self.casing:
            body = body.lower() if self.casing == "lower" else body.upper()
        return f'"{body}"' if self.quoted else body

    def _joined(self) -> str:
        said = [self._sentence(at, words) for at, words in enumerate(self.sentences)]
        gap = "" if self.draws.language == "zh" else " "
        opening, closing = self.opening.strip("\n"), self.closing.strip("\n")
        if self.layout != "prose":
            signs = [f"{at}. " if self.layout == "numbers" else "- " for at in range(1, len(said) + 1)]
            body = "\n".join(sign + one for sign, one in zip(signs, said, strict=True))
            return "\n".join(part for part in (opening, body, closing) if part)
        cut = min(self.paragraphs, len(said))
        shares = [said[at * len(said) // cut : (at + 1) * len(said) // cut] for at in range(cut)]
        body = "\n\n".join(gap.join(share) for share in shares)
        whole = gap.join(part for part in (self.opening, body, self.closing) if part)
        return whole.replace("\n ", "\n").replace(" \n", "\n")

    def _sentence(self, at: int, words: list[str]) -> str:
        shown = list(words)
        chinese = self.draws.language == "zh"
        if self.commas and at == 0:
            shown[0] += "，" if chinese else ","
        if at < self.highlights:
            shown[-1] = f"**{shown[-1]}**"
        if chinese:
            return "".join(shown) + "。"
        said = " ".join(shown)
        return said[0].upper() + said[1:] + "."


def fresh(draws: Draws, sentences: int | None = None) -> Draft:
    """A draft that no demand has shaped."""
    many = sentences or draws.between(2, 4)
    written = [sentence(draws) for _ in range(many)]
    # The first one has a word in front that takes a comma well.
    return Draft(draws=draws, sentences=[[opener(draws), *written[0]], *written[1:]])


def words_of(text: str) -> list[str]:
    """The words of a text: runs of letters; a hyphen and an apostrophe join."""
    return _WORD.findall(text)


def characters_of(text: str) -> list[str]:
    """The Chinese characters of a text, marks left out."""
    return _CHARACTER.findall(text)
