"""Preference data to train judges on: the published sets and a user's own, doubles, contamination, lengths.

Owns: which published set is where and how its rows become items. Does not own: files and field maps (``assay.data``),
data that is generated (``assay.synthetic``).
"""

from .best import unique_best
from .contamination import Contamination, Overlap, words_of
from .doubles import Doubles, Twin
from .lengths import Lengths, SourceLengths
from .published import SETS, PublishedSet
from .sources import preference_items

__all__ = [
    "SETS",
    "Contamination",
    "Doubles",
    "Lengths",
    "Overlap",
    "PublishedSet",
    "SourceLengths",
    "Twin",
    "preference_items",
    "unique_best",
    "words_of",
]
