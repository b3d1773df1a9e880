"""Names of units, so that ``5 km`` is ``5 kilometers`` and is not ``5 m``. Names only: nothing is converted."""

from __future__ import annotations

_SPELLINGS = {
    "meter": "m metre 米",
    "kilometer": "km kilometre 千米 公里",
    "centimeter": "cm centimetre 厘米",
    "millimeter": "mm millimetre 毫米",
    "inch": "in inche",
    "foot": "ft feet",
    "yard": "yd",
    "mile": "mi",
    "gram": "g 克",
    "kilogram": "kg kilo 千克 公斤",
    "milligram": "mg 毫克",
    "pound": "lb",
    "ounce": "oz",
    "liter": "l litre 升",
    "milliliter": "ml millilitre 毫升",
    "second": "s sec 秒",
    "minute": "min 分钟",
    "hour": "h hr 小时",
    "day": "天 日",
    "degree": "deg 度",
    "dollar": "$ usd buck 美元",
    "euro": "€ eur 欧元",
    "sterling": "£ gbp",
    "yuan": "¥ ￥ rmb cny 元",
    "cent": "¢ 分",
}
UNITS = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in (name, *spellings.split())}
"""Every spelling that is known, in lower case and singular, with the name it stands for."""


def unit_name(written: str) -> str:
    """The name of the unit that ``written`` begins with (``dollars per day``: ``dollar``); its own word if unknown."""
    first = written.lower().split()[0].strip(".,;") if written.strip() else ""
    for spelling in (first, first.removesuffix("s"), first.removesuffix("es")):
        if spelling in UNITS:
            return UNITS[spelling]
    return first.removesuffix("s") if len(first) > 3 else first
