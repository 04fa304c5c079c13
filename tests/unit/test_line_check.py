"""Lines of senders: what is taken and what is refused, and that each byte costs the same."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator.engine.grammar import MAX_DEPTH
from integrator.sources.sockets.line_gate import first_wrong

NO_RECORD = "no JSON record in one line"
DEEP = f"more than {MAX_DEPTH} brackets are nested"
TWICE = "the member 'a' stands twice in one object"


def nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    """An object with so many brackets within each other, its own among them."""
    return ('{"a":' + opening * (depth - 1) + "1" + closing * (depth - 1) + "}").encode()


TAKEN = [
    b"",
    b"\n",
    b" \t\r\n",
    b'{"n":1}\n',
    b' \t{"n":1} \t\r\n\n null \r\n{"n":"}{\\"[\\\\"}\n',
    b"null\nnull\n",
    nested(MAX_DEPTH) + b"\n",
    nested(MAX_DEPTH, '{"b":', "}") + b"\n",
    b'{"a":"' + b"[" * 100_000 + b'"}\n',
    b"{}\n" * 1000,
]
REFUSED = [
    (b'{"n":1}\nGET / HTTP/1.1\n', 8, NO_RECORD),
    (b'{"n":1}\n{"n":\n2}\n', 8, NO_RECORD),
    (b'{"n":1}{"n":2}\n', 0, NO_RECORD),
    (b"{}x\n", 0, NO_RECORD),
    (b"\n\nnul\n", 2, NO_RECORD),
    (b"nullnull\n", 0, NO_RECORD),
    (b"[1]\n", 0, NO_RECORD),
    (b'{}\nnull\n\n{"a":[1}\n{}\n', 9, NO_RECORD),
    (b'{"a":"\\\n', 0, NO_RECORD),
    (b'{"a":1]\n', 0, NO_RECORD),
    (b'{"n":1}\n{"x":"\xff"}\n', 8, "not UTF-8"),
    (b'{"n":1}\n{x}\n{"x":"\xff"}\n', 8, NO_RECORD),
    (b"{}\n" + nested(MAX_DEPTH + 1) + b"\n", 3, DEEP),
    (b"{}\n" + nested(MAX_DEPTH + 1, '{"b":', "}") + b"\n", 3, DEEP),
    (b"{}\n" + nested(200_000) + b"\n", 3, DEEP),  # Arrow's parser would end the process
    (b'{}\n{"a":1,"a":2}\n', 3, TWICE),
    (b"{x}\n" + nested(200_000) + b"\n", 0, NO_RECORD),
]


@pytest.mark.parametrize("lines", TAKEN)
def test_lines_that_are_taken(lines: bytes) -> None:
    assert first_wrong(lines) is None


@pytest.mark.parametrize(("lines", "start", "reason"), REFUSED)
def test_the_first_line_that_is_refused(lines: bytes, start: int, reason: str) -> None:
    at, why = first_wrong(lines) or (None, "")
    assert at == start
    assert reason in why


TOKENS = [*'{}[]:,"', '"a"', "1", "null", " ", "\t", "\r", "\\", '\\"', '{"a":1}', '{"a":']


@given(st.lists(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join), max_size=6))
def test_any_lines_are_what_pythons_json_makes_of_them(texts: list[str]) -> None:
    def fine(text: str) -> bool:
        if text.lstrip(" \t").strip(" \t\r") in ("", "null"):
            return True
        try:
            return isinstance(json.loads(text, object_pairs_hook=unique), dict) and text.lstrip(" \t\r").startswith("{")
        except ValueError:
            return False

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a member twice")
        return dict(pairs)

    data = "".join(text + "\n" for text in texts).encode()
    found = first_wrong(data)
    wrong = next((at for at, text in enumerate(texts) if not fine(text)), None)
    start = None if wrong is None else sum(len(text.encode()) + 1 for text in texts[:wrong])
    assert (found and found[0]) == start


MEGABYTE = 1_000_000
SLOW = [
    # a line of a megabyte that was looked at once for each of its spaces
    ("spaces before a word", b" " * MEGABYTE + b"x\n"),
    ("spaces before an object", b" " * MEGABYTE + b"{}\n"),
    ("spaces after an object", b"{}" + b" " * MEGABYTE + b"x\n"),
    ("spaces in an object", b'{"a":' + b" " * MEGABYTE + b"1}\n"),
    ("many ends of objects, and spaces", b'{"a":"' + (b"}" + b" " * 100) * (MEGABYTE // 101) + b'"}x\n'),
    ("many names", b"{" + b",".join(b'"k%d": 1' % at for at in range(MEGABYTE // 12)) + b"}\n"),
    ("blank lines", b"\n" * MEGABYTE),
    ("brackets in text", b'{"a":"' + b"[{" * (MEGABYTE // 2) + b'"}\n'),
]


@pytest.mark.parametrize(("what", "lines"), SLOW, ids=[what for what, _ in SLOW])
def test_a_megabyte_takes_a_moment(what: str, lines: bytes) -> None:
    first_wrong(b"{}\n")  # compiled
    started = time.process_time()
    first_wrong(lines)
    assert time.process_time() - started < 1, what
