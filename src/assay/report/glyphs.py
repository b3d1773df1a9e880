"""Letters as dots, five wide and seven high, for pictures that are made without any font."""

from __future__ import annotations

WIDTH, HEIGHT = 5, 7

# Seven rows from the top, each a base-32 digit whose five bits are the dots of the row.
_ROWS = {
    "0": "EHJLPHE", "1": "4C4444E", "2": "EH1248V", "3": "V2421HE", "4": "26AIV22", "5": "VGU11HE", "6": "68GUHHE",
    "7": "V124888", "8": "EHHEHHE", "9": "EHHF12C", "A": "EHHVHHH", "B": "UHHUHHU", "C": "EHGGGHE", "D": "SIHHHIS",
    "E": "VGGUGGV", "F": "VGGUGGG", "G": "EHGNHHF", "H": "HHHVHHH", "I": "E44444E", "J": "72222IC", "K": "HIKOKIH",
    "L": "GGGGGGV", "M": "HRLLHHH", "N": "HHPLJHH", "O": "EHHHHHE", "P": "UHHUGGG", "Q": "EHHHLID", "R": "UHHUKIH",
    "S": "FGGE11U", "T": "V444444", "U": "HHHHHHE", "V": "HHHHHA4", "W": "HHHLLLA", "X": "HHA4AHH", "Y": "HHHA444",
    "Z": "V1248GV", "a": "00E1FHF", "b": "GGMPHHU", "c": "00EGGHE", "d": "11DJHHF", "e": "00EHVGE", "f": "698S888",
    "g": "0FHHF1E", "h": "GGMPHHH", "i": "40C444E", "j": "20622IC", "k": "GGIKOKI", "l": "C44444E", "m": "00QLLHH",
    "n": "00MPHHH", "o": "00EHHHE", "p": "00UHUGG", "q": "00DJF11", "r": "00MPGGG", "s": "00EGE1U", "t": "88S8896",
    "u": "00HHHJD", "v": "00HHHA4", "w": "00HHLLA", "x": "00HA4AH", "y": "00HHF1E", "z": "00V248V", " ": "0000000",
    ".": "00000CC", ",": "0000C48", ":": "0CC0CC0", "-": "000V000", "–": "000V000", "_": "000000V", "%": "OP248J3",
    "/": "01248G0", "(": "2488842", ")": "8422248", "+": "044V440", "=": "00V0V00", "@": "EHNLNGE", "<": "248G842",
    ">": "8421248",
}  # fmt: skip
_UNKNOWN = "VHHHHHV"


def dots(letter: str) -> tuple[tuple[bool, ...], ...]:
    """Rows from the top; a letter that there is none of is a box."""
    rows = _ROWS.get(letter, _UNKNOWN)
    return tuple(tuple(bool(int(row, 32) >> (WIDTH - 1 - x) & 1) for x in range(WIDTH)) for row in rows)
