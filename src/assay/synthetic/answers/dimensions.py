"""Units of measurement by dimension, and how a quantity becomes one in another unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..numerals import plain


@dataclass(frozen=True, slots=True)
class Unit:
    """``size``: in the base unit of its dimension, which is the first of its list."""

    short: str
    long: str
    zh: str
    size: Fraction


def _unit(short: str, long: str, zh: str, above: int, below: int = 1) -> Unit:
    return Unit(short, long, zh, Fraction(above, below))


DIMENSIONS: dict[str, tuple[Unit, ...]] = {
    "time": (
        _unit("s", "seconds", "秒", 1),
        _unit("min", "minutes", "分钟", 60),
        _unit("h", "hours", "小时", 3600),
        _unit("d", "days", "天", 86400),
    ),
    "length": (
        _unit("m", "metres", "米", 1),
        _unit("km", "kilometres", "千米", 1000),
        _unit("cm", "centimetres", "厘米", 1, 100),
        _unit("mm", "millimetres", "毫米", 1, 1000),
        _unit("dm", "decimetres", "分米", 1, 10),
    ),
    "mass": (
        _unit("g", "grams", "克", 1),
        _unit("kg", "kilograms", "千克", 1000),
        _unit("mg", "milligrams", "毫克", 1, 1000),
        _unit("t", "tonnes", "吨", 1_000_000),
    ),
    "volume": (
        _unit("mL", "millilitres", "毫升", 1),
        _unit("L", "litres", "升", 1000),
        _unit("cL", "centilitres", "厘升", 10),
        _unit("m^3", "cubic metres", "立方米", 1_000_000),
    ),
    "area": (
        _unit("m^2", "square metres", "平方米", 1),
        _unit("cm^2", "square centimetres", "平方厘米", 1, 10000),
        _unit("ha", "hectares", "公顷", 10000),
        _unit("km^2", "square kilometres", "平方千米", 1_000_000),
    ),
    "power": (
        _unit("W", "watts", "瓦", 1),
        _unit("kW", "kilowatts", "千瓦", 1000),
        _unit("MW", "megawatts", "兆瓦", 1_000_000),
    ),
    "storage": (
        _unit("MB", "megabytes", "MB", 1),
        _unit("GB", "gigabytes", "GB", 1000),
        _unit("KB", "kilobytes", "KB", 1, 1000),
        _unit("TB", "terabytes", "TB", 1_000_000),
    ),
    "speed": (
        _unit("m/s", "metres per second", "米每秒", 1),
        _unit("km/h", "kilometres per hour", "千米每小时", 5, 18),
        _unit("m/min", "metres per minute", "米每分钟", 1, 60),
    ),
}


def short(value: Fraction) -> bool:
    """Whether the value is an exact decimal that one would write."""
    text = plain(value)
    return "/" not in text and len(text) <= 11


def conversion(value: Fraction, unit: Unit, base: Unit) -> str:
    """``1.5 x 1000 = 1500 MB``; nothing where the unit is ``base``."""
    if unit is base:
        return ""
    size = unit.size / base.size
    whole = f"{plain(value * size)} {base.short}"
    if size.denominator == 1:
        return f"{plain(value)} x {size} = {whole}"
    factor = f"x {size.numerator} " if size.numerator > 1 else ""
    return f"{plain(value)} {factor}: {size.denominator} = {whole}"
