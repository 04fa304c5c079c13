"""HVR's substitutions: their types, and where they may stand (https://fivetran.com/docs/hvr6/action-reference/columnproperties)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from integrator import schema
from integrator.errors import Reason
from integrator.names import listed, nearest
from integrator.schema import Type

INTEG_SEQ_LENGTH = 45

Context = Literal[
    "IntegrateExpression", "CaptureExpression", "MessageKey", "MessageHeaders", "MessageTimestamp", "MessagePartition",
    "AddressTo", "topic", "record name",
]  # fmt: skip
OF_TABLE: tuple[Context, ...] = ("topic", "record name")
"""Contexts of names of topics and records."""

Dependency = Literal["row", "missing", "transaction", "table", "columns", "file", "record", "header", "run"]
"""What a value depends on: its row; which values are missing; where the transaction ends; the names of the table; which
columns it has; the file or the row's place in it; the record of a topic; its headers, or a record's
metadata; the run and the channel."""


_ROW: tuple[Context, ...] = ("IntegrateExpression", "MessageKey", "MessageHeaders")


@dataclass(frozen=True)
class Substitution:
    """What a substitution gives: its type when it stands alone, where it may stand, and what its value depends on."""

    type: Type
    contexts: tuple[Context, ...] = _ROW
    depends_on: tuple[Dependency, ...] = ("row",)


_BOTH: tuple[Context, ...] = (*_ROW, *OF_TABLE)
IN_A_MESSAGE: tuple[Context, ...] = ("MessageKey", "MessageHeaders")
_CAPTURED: tuple[Context, ...] = (
    "IntegrateExpression",
    "CaptureExpression",
    "MessageKey",
    "MessageHeaders",
    "AddressTo",
)

SUBSTITUTIONS: dict[str, Substitution] = {
    "hvr_op": Substitution(schema.Integer(32)),
    "hvr_op_str": Substitution(schema.String()),
    "hvr_integ_seq": Substitution(schema.String(INTEG_SEQ_LENGTH)),
    "hvr_integ_key": Substitution(schema.String(16), depends_on=("row", "file", "run")),
    "hvr_tx_seq": Substitution(schema.String(20)),
    "hvr_tx_scn": Substitution(schema.String(10)),
    "hvr_tx_countdown": Substitution(schema.Integer(32), depends_on=("row", "transaction")),
    "hvr_cap_tstamp": Substitution(schema.Timestamp("us", zoned=True), (*_CAPTURED, "MessageTimestamp")),
    "hvr_integ_tstamp": Substitution(schema.Timestamp("us", zoned=True), depends_on=("run",)),
    "hvr_cap_user": Substitution(schema.String(), _CAPTURED),
    "hvr_cap_filename": Substitution(schema.String(), IN_A_MESSAGE, ("file",)),
    "hvr_cap_subdirs": Substitution(schema.String(), IN_A_MESSAGE, ("file",)),
    "hvr_cap_topic": Substitution(schema.String(), depends_on=("row", "record")),
    "hvr_cap_partition": Substitution(schema.Integer(32), (*_ROW, "MessagePartition"), ("row", "record")),
    "hvr_cap_offset": Substitution(schema.Integer(64), depends_on=("row", "record")),
    "hvr_cap_record_key": Substitution(schema.String(), depends_on=("row", "record")),
    "hvr_cap_header": Substitution(schema.String(), depends_on=("row", "header")),
    "hvr_cap_record_tstamp": Substitution(
        schema.Timestamp("us", zoned=True), (*_ROW, "MessageTimestamp"), ("row", "record")
    ),
    "hvr_row_uuid": Substitution(schema.String(36, "uuid"), depends_on=("row", "table", "run")),
    "hvr_missing": Substitution(schema.String(), depends_on=("row", "missing")),
    "hvr_key_hash": Substitution(schema.String(16), IN_A_MESSAGE),
    "hvr_key_names": Substitution(schema.String(), depends_on=("columns",)),
    "hvr_cap_loc": Substitution(schema.String(), (*_BOTH, "CaptureExpression", "AddressTo"), ("run",)),
    "hvr_chn_name": Substitution(schema.String(), _BOTH, ("run",)),
    "hvr_tbl_name": Substitution(schema.String(), _BOTH, ("table",)),
    "hvr_tbl_base_name": Substitution(schema.String(), _BOTH, ("table",)),
    "hvr_schema": Substitution(schema.String(), _BOTH, ("table",)),
    "hvr_slice_num": Substitution(schema.Integer(32), _CAPTURED, ("run",)),
    "hvr_slice_total": Substitution(schema.Integer(32), _CAPTURED, ("run",)),
    "hvr_slice_value": Substitution(schema.String(), _CAPTURED, ("run",)),
}
"""Those that a row can have in integrate. {hvr_missing} and {hvr_row_uuid} are extensions: the names of columns that
the source left out, for formats in which they are sent as null; and a UUID of the change. So are those of the record of
a topic: its topic, partition, offset, key and time, and the header NAME of {hvr_cap_header NAME}, which is also read of
the metadata of OpenCDC records. {hvr_var_NAME} is put in when the channel is read. {hvr_integ_key} and
{hvr_integ_tstamp} are clocks: a change that is sent again has another. Those of slices have a value in a refresh alone.
"""

VARIABLE = "hvr_var_"
"""What the names of a run's variables begin with."""

WORDED = frozenset(
    {"hvr_integ_seq", "hvr_row_uuid", "hvr_missing", "hvr_key_names", "hvr_chn_name", "hvr_cap_loc", "hvr_tbl_name"}
    | {"hvr_tbl_base_name", "hvr_schema", "hvr_cap_filename", "hvr_cap_subdirs"}
)
"""Those whose text is never a number or a moment: names begin with a letter, positions have signs in them."""

COLUMN = "hvr_col_name"
"""{{hvr_col_name}} is the value of the column that the action is for."""

MESSAGE_FORMAT = "%[utc] %Y%m%d%H%M%S"
"""How a time stamp becomes text in a message key or header, where no format is given; {hvr_integ_tstamp} has ms too."""

COLUMN_FORMAT = "%[localtime] %Y-%m-%d %H:%M:%S[.SSS]"
"""How {hvr_integ_tstamp} becomes text in a column, where no format is given; other time stamps go without the ms."""


def with_article(context: str) -> str:
    """Return the name of a context with its article."""
    return f"{'an' if context[0] in 'AEIOU' else 'a'} {context}"


LETTERS = "abdHjmMsSTUVwWyY"
"""What may be after a % in a format of time stamps."""
WITH_TEXT = ("hvr_op_str", "hvr_key_names", "hvr_cap_header")
"""Substitutions that take a text of their own where time stamps take a format."""

DEFAULT_OPS = "0>D;1>I;2>U;3>K;4>4;5>T"
ALLOW_MISSINGS = "%[allow_missings]"
LITERAL = "%[literal]"
"""In AddressTo: the value is one address, as it is, and no list of them."""


class ExpressionError(ValueError):
    """An expression that cannot be; the text says what is accepted. alike: see `Reason`."""

    def __init__(self, text: str, alike: str = "") -> None:
        """Take what is wrong, and what it has in common with what is wrong for other tables."""
        self.reason = Reason(text, alike)
        super().__init__(text)


def check_format(written: str, spec: str) -> None:
    """Raise ExpressionError for what is no format of time stamps."""
    rest = re.sub(r"^\s*%\[(localtime|utc)\]", "", spec)
    odd = [found for found in re.findall(r"%(\[[^\]]*\]?|.|$)", rest) if found not in LETTERS or not found]
    if odd:
        letters = " ".join(f"%{letter}" for letter in LETTERS)
        raise ExpressionError(
            f"{written}: %{odd[0]} is not known; accepted are %[localtime] or %[utc] first, then {letters}"
        )
    if "%" not in rest:
        raise ExpressionError(f"{written}: a format has letters after %, such as %Y-%m-%d %H:%M:%S")


def op_mapping(spec: str) -> dict[int, str]:
    """Return the mapping of `{hvr_op_str …}`: `0>D;1>I`. A given mapping replaces the default entirely.

    Raises ExpressionError.
    """
    mapping = {}
    for entry in (spec.strip() or DEFAULT_OPS).split(";"):
        code, arrow, text = entry.partition(">")
        if not arrow or not code.strip().isdigit():
            raise ExpressionError(f"{entry!r} in {{hvr_op_str}} is no mapping; write CODE>TEXT;CODE>TEXT")
        mapping[int(code)] = text
    return mapping


def accepted_in(context: Context) -> list[str]:
    """Return the substitutions that may stand in a context."""
    return [name for name, substitution in SUBSTITUTIONS.items() if context in substitution.contexts]


def substitution_meant(name: str, known: Sequence[str], accepted: str = "accepted are") -> str:
    """Return which substitution or column is meant, in braces."""
    near = nearest(name, known)
    return f"do you mean {{{near}}}?" if near else listed(known, accepted)
