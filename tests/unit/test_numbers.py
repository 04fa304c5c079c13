"""Numbers as people read them."""

import ast
import re
from pathlib import Path

import pytest

import integrator
from integrator.names.numbers import counted, ranges

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (1, ("table",), "1 table"),
        (0, ("table",), "0 tables"),
        (1200, ("dead letter",), "1,200 dead letters"),
        (2, ("query", "queries"), "2 queries"),
    ],
)
def test_how_many(number, words, text):
    assert counted(number, *words) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([7], "7"),
        ([3, 4], "3, 4"),
        ([*range(99), 100], "0 to 98, 100"),
        ([9, 1, 2, 3, 7, 8], "1 to 3, 7 to 9"),
    ],
)
def test_which_ones(numbers, text):
    assert ranges(numbers) == text


COUNTED = re.compile(
    r" (?:change |dead |more |other |synced )*(?:bits|bytes|changes|channels|characters|columns|cycles|digits|fields|files|keys|letters|"
    r"lines|messages|partitions|records|replicas|rows|seconds|senders|shards|slices|tables|topics|transactions|values)\b"
)
NEVER_ONE = {
    "every", "len(tables)",  # of several tables, the text says in a sentence of its own
    "kind.bits", "wanted.value_type.bit_width", "width",  # of types
    "len(text)", "len(lines)", "longest", "size", "found.bytes",  # above a limit
    "theirs", "most", "recipe.messages.max_bytes", "found.threshold",  # settings of bytes, as they are written
    "poll_s", "needed", "rate", "of", "serializer", "channel",  # 0.05 s, 36 characters, no numbers
}  # fmt: skip


def not_counted(text):
    """What stands before the name of a thing in f-strings, and would be wrong for one of it; without constants."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            for value, after in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(value, ast.FormattedValue)
                    and isinstance(after, ast.Constant)
                    and COUNTED.match(after.value)
                ):
                    yield ast.unparse(value.value)


def test_messages_count_things_as_people_do():
    """`1 lines are received`, said several."""
    assert list(not_counted("f'{len(found)} lines, {where}: lines, {_MOST} rows'")) == ["len(found)", "_MOST"]
    found = {
        f"{path}: {one}"
        for path in Path(integrator.__file__).parent.rglob("*.py")
        for one in not_counted(path.read_text(encoding="utf-8"))
        if one not in NEVER_ONE and not re.fullmatch(r"[A-Z_0-9 <]+|[A-Z_]+\[0\]|1 << [A-Z_]+", one)
    }
    assert found == set()
