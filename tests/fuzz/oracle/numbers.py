"""Text -> numbers and booleans: exactly or not at all."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from tests.fuzz.oracle.verdict import Wrong

Notes = set[str]
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_LOOSE_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FLOAT_NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FAR = 10_000
"""Exponents beyond which no value of any column lies."""
_EXACT = Context(prec=50_000, Emax=10**17, Emin=-(10**17))


def _short(text: str) -> Decimal:
    """Return the number. Of an exponent that no column has, one that is as far out."""
    mantissa, _, exponent = text.lower().partition("e")
    number = _EXACT.create_decimal(mantissa)
    shift = (
        0 if not exponent else int(exponent) if len(exponent) < 9 else math.copysign(_FAR * 9, float(exponent + "."))
    )
    return number.scaleb(int(shift), _EXACT)


def integer(text: str, bits: int, notes: Notes) -> int:
    if not _LOOSE_INTEGER.fullmatch(text):
        raise Wrong("no integer")
    digits = text.lstrip("+-").lstrip("0")
    value = 10**100 if len(digits) > 100 else int((text[0] if text[0] == "-" else "") + (digits or "0"))
    if not _INTEGER.fullmatch(text) or text == "-0":
        notes.add("an integer with a plus, or zeros before it")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise Wrong("an integer out of range")
    return value


def decimal(text: str, precision: int, scale: int, notes: Notes) -> Decimal:
    if not _LOOSE_NUMBER.fullmatch(text):
        raise Wrong("no decimal")
    number = _short(text)
    if number and not -_FAR < number.adjusted() < _FAR:
        raise Wrong("a decimal out of range")
    scaled = (number or Decimal(0)).scaleb(scale, _EXACT)
    whole = scaled.to_integral_value()
    if scaled != whole or abs(whole) >= 10**precision:
        raise Wrong("a decimal out of range")
    found = _DECIMAL.fullmatch(text)
    if not found or len(found[2] or "") > scale + 1:
        notes.add("a decimal with an exponent, a plus, more zeros than its column has, or no digit beside its point")
    return whole.scaleb(-scale, _EXACT)


def number_text(text: str, notes: Notes) -> str:
    """Return a number of a column without precision: its text."""
    if not _DECIMAL.fullmatch(text):
        notes.add("a column for numbers of any size has text that is no plain number")
    return text


def floating(text: str, bits: int, notes: Notes) -> float:
    if text in _FLOAT_NAMES:
        return _FLOAT_NAMES[text]
    if text.lower() in ("nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"):
        notes.add("infinity or NaN in another spelling than PostgreSQL's")
        return float(text)
    if not _LOOSE_NUMBER.fullmatch(text):
        raise Wrong("no number")
    if not _FLOAT.fullmatch(text):
        notes.add("a float with a plus, zeros before it, or no digit beside its point")
    value = float(text)
    if bits == 32 and not math.isinf(value):
        value = _single(text, value)
    if math.isinf(value):
        raise Wrong("overflow")
    return value


def _single(text: str, value: float) -> float:
    """Return the nearest number of 32 bits, of equally near ones the even one."""
    if abs(value) < 1e-60 or abs(value) > 1e60:
        return math.copysign(0.0 if abs(value) < 1 else math.inf, value)
    exact, most = Fraction(_short(text)), Fraction(2) ** 128 - Fraction(2) ** 103
    if abs(exact) >= most:
        return math.copysign(math.inf, value)
    with np.errstate(all="ignore"):
        near = np.float32(value)
        around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    around = [one for one in around if np.isfinite(one)]
    best = min(around, key=lambda one: (abs(Fraction(float(one)) - exact), int(one.view(np.uint32)) & 1))
    return math.copysign(float(best), value)


def boolean(text: str, notes: Notes, *, written: str = "") -> bool:
    """Return a boolean; `written` has the letters or digits for true and false that the source writes besides."""
    if text in ("true", "false"):
        return text == "true"
    if text.lower() in ("true", "false", "t", "f") or text in ("1", "0"):
        if text not in tuple(written):
            notes.add("a boolean as t, f, 1, 0, or in capitals")
        return text.lower() in ("true", "t", "1")
    raise Wrong("no boolean")
