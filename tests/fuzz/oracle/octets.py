"""Text -> bytes: hex, base64, or characters up to U+00FF."""

from __future__ import annotations

import base64
import re

from tests.fuzz.oracle.verdict import Wrong

Notes = set[str]


def from_hex(text: str, notes: Notes) -> bytes:
    r"""Return bytes written as hex digits, with or without `\x` before them."""
    digits = text.removeprefix("\\x")
    if len(digits) % 2 or not re.fullmatch("[0-9a-fA-F]*", digits):
        raise Wrong("no hex")
    return bytes.fromhex(digits)


def from_base64(text: str, notes: Notes) -> bytes:
    """Return bytes in base64, of either alphabet (RFC 4648, sections 4 and 5), padded."""
    if not re.fullmatch("[A-Za-z0-9+/_-]*={0,2}", text) or len(text) % 4:
        raise Wrong("no base64")
    if re.search("[+/]", text) and re.search("[_-]", text):
        notes.add("base64 of both alphabets")
    plain = text.replace("-", "+").replace("_", "/")
    value = base64.b64decode(plain)
    if base64.b64encode(value).decode() != plain:
        notes.add("base64 whose last digit has bits that no byte has")
    return value


def from_latin1(text: str, notes: Notes) -> bytes:
    """Return the bytes that characters stand for."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise Wrong("no bytes in ISO-8859-1") from None
