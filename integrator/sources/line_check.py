"""Lines that a sender sends, looked at before they count as received: each is one JSON object, null, or blank.

What is refused here is what the decoder would refuse later, when the sender is gone. One loop finds the lines and how
deep they nest, Arrow's parser looks at what is in them; each costs the same for each byte, without Python's lock.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import Octets, Offsets, first_refused
from integrator.compiled import compiled
from integrator.dialects.lines import arrow_json

MAX_DEPTH = 128
"""Brackets within each other, at most: each is a call of Arrow's parser, whose stack ends at some ten thousand."""
_PARSE = arrow_json(pa.schema([("\0", pa.string())]), "ignore")
"""Looks at all of the text, and keeps nothing of it."""
_NO_RECORD = "no JSON record in one line"
_FINE, _NO_OBJECT, _TOO_DEEP = 0, 1, 2
_REASONS = {_NO_OBJECT: _NO_RECORD, _TOO_DEEP: f"brackets within each other more than {MAX_DEPTH} deep"}


def first_wrong(lines: bytes) -> tuple[int, str] | None:
    """Return where the first line begins that is no record, and why; None if each is one. The last one has its end."""
    try:
        lines.decode()
        good, reason = len(lines), ""
    except UnicodeDecodeError as error:
        good, reason = lines.rfind(b"\n", 0, error.start) + 1, "not UTF-8"
    data = np.frombuffer(lines, np.uint8, good)
    objects = np.empty((int(np.count_nonzero(data == _NEWLINE)), 2), np.int64)
    count, wrong, why = _scan(data, MAX_DEPTH, objects)
    if why != _FINE:
        good, reason = wrong, _REASONS[why]
    objects = objects[:count]
    if count and not _are_records(lines, objects):
        at = first_refused(count, lambda start, stop: _are_records(lines, objects[start:stop]))
        good, reason = int(objects[at, 0]), _NO_RECORD
    return (good, reason) if reason else None


def _are_records(lines: bytes, objects: Offsets) -> bool:
    """Return whether the lines at these places, which begin and end as objects do, are one record each."""
    ends, starts = objects[:-1, 1], objects[1:, 0]
    if (ends == starts).all():
        text = lines[objects[0, 0] : objects[-1, 1]]
    else:  # null and blank lines between them: null kills Arrow's parser, and of a blank line it makes no row
        text = b"".join(lines[start:end] for start, end in objects.tolist())
    try:
        return bool(_PARSE(text).num_rows == len(objects))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


_NEWLINE, _RETURN, _TAB, _SPACE = 0x0A, 0x0D, 0x09, 0x20
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = ord("{"), ord("}"), ord("["), ord("]")
_NULL = np.frombuffer(b"null", np.uint8)


@compiled
def _scan(data: Octets, deepest: int, objects: npt.NDArray[np.int64]) -> tuple[int, int, int]:  # noqa: C901, PLR0912
    """Return how many lines are objects by their brackets, and where the first wrong line begins, and why.

    objects: takes where each of them begins, and where the next line begins; nothing behind a wrong line.
    """
    at, count = 0, 0
    while at < len(data):
        begin = at
        while data[at] in (_SPACE, _TAB):
            at += 1
        is_object = data[at] == _OPEN
        if is_object:
            depth, in_text = 0, False
            while True:
                byte = data[at]
                if byte == _NEWLINE:
                    return count, begin, _NO_OBJECT
                if in_text:
                    if byte == _BACKSLASH and data[at + 1] != _NEWLINE:
                        at += 1
                    elif byte == _QUOTE:
                        in_text = False
                elif byte == _QUOTE:
                    in_text = True
                elif byte in (_OPEN, _OPEN_LIST):
                    depth += 1
                    if depth > deepest:
                        return count, begin, _TOO_DEEP
                elif byte in (_CLOSE, _CLOSE_LIST):
                    depth -= 1
                at += 1
                if not depth:
                    break
        elif data[at] == _NULL[0]:
            for letter in _NULL:
                if data[at] != letter:
                    return count, begin, _NO_OBJECT
                at += 1
        while data[at] in (_SPACE, _TAB, _RETURN):
            at += 1
        if data[at] != _NEWLINE:
            return count, begin, _NO_OBJECT
        at += 1
        if is_object:
            objects[count, 0], objects[count, 1] = begin, at
            count += 1
    return count, 0, _FINE
