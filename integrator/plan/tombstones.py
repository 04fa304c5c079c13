"""Whether deletes are followed by tombstones, and that these erase no other rows than the deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from integrator.channel.actions import Integrate
from integrator.channel.problems import Report
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.table_recipe import Field, KeyRecipe
from integrator.encode.envelopes import ENVELOPES
from integrator.errors import Reason
from integrator.expressions.parts import ColumnValue, Op, Part
from integrator.schema import Array, Bytes, Column, Struct, Table, Timestamp

_FLAG = "DistributionKey: true"


@dataclass(frozen=True)
class Keys:
    """How a table's message keys are made. hashed: of what {hvr_key_hash} is; flagged: by DistributionKey.

    own: whether the table has a key, else its key is all columns: of rows that are alike, and of those that differ in a
    column that no key can have, a tombstone of one erases the others. time_keyed: whether deletes are sent as rows.
    """

    table: Table
    own: bool
    key: KeyRecipe
    fields: Sequence[Field]
    hashed: tuple[str, ...]
    flagged: bool
    time_keyed: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns of the table's key by whose values message keys do not differ."""
        return self.table.key if self.key.serializer == "NONE" else _missing(self)


def tombstones_of(integrate: Integrate, keys: Keys, layout: MessageFormat, report: Report) -> bool:
    """Return whether the deletes of a table are followed by tombstones."""
    key, table = keys.key, keys.table
    asked, envelope = integrate.OnDeleteSendTombstone, ENVELOPES.get(layout.envelope)
    keyless = key.serializer == "NONE"
    if asked and keyless:
        report("OnDeleteSendTombstone", "a tombstone is for a key, and messages have none; leave it out, or have keys")
    if asked and not keyless and not keys.own:
        if keys.time_keyed:
            return False
        action = f"{{action: ColumnProperties, table: {table.name}, Name: …, Key: true}}"
        text = f"table {table.name} has no key, and a tombstone would erase rows that are like the deleted one"
        off = f"{{action: Integrate, table: {table.name}, OnDeleteSendTombstone: false}}"
        report("OnDeleteSendTombstone", f"{text}; give it a key, {action}, or set {off}", table.name)
        return False
    default = bool(envelope and envelope.tombstones and not keyless and keys.own)
    wanted = default if asked is None else bool(asked)
    missing = _missing(keys) if wanted and not keyless else ()
    if missing or (wanted and _runs_together(key.expression, len(table.key))):
        lacks = f"the message key lacks {', '.join(missing) or 'separators'}"
        text = f"a tombstone would erase rows that were not deleted; {lacks}: {_remedy(keys, missing)}"
        reason = Reason(f"{text}, or set OnDeleteSendTombstone: false", "rows that were not deleted")
        report("OnDeleteSendTombstone", reason, table.name)
    return wanted


def _missing(keys: Keys) -> tuple[str, ...]:
    """Return the columns of the table's key by whose values message keys do not differ."""
    known: set[str] = set()
    for part in keys.key.expression:
        match part:
            case ColumnValue(name, spec=""):
                known.add(name)
            case Op(name="hvr_key_hash"):
                known |= set(keys.hashed)
            case Op(name="hvr_key_names", value_of=True):
                known |= set(keys.table.key)
    if not keys.key.expression:
        known = {field.column for field in keys.fields if field.column and not field.expression and not field.lossy}
    return tuple(name for name in keys.table.key if name not in known)


def _runs_together(parts: tuple[Part, ...], key_columns: int) -> bool:
    """Return whether one value is right after another: 1 and 11 would be the same text as 11 and 1."""

    def is_value(part: Part) -> bool:
        return isinstance(part, ColumnValue) or (isinstance(part, Op) and part.value_of)

    inside = any(isinstance(part, Op) and part.value_of and not part.spec and key_columns > 1 for part in parts)
    return inside or any(is_value(one) and is_value(other) for one, other in pairwise(parts))


def _is_exact(column: Column) -> bool:
    """Return whether a template can have a column, and its text is another for each of its values."""
    return column.name.isidentifier() and not isinstance(column.type, Array | Bytes | Struct | Timestamp)


def _remedy(keys: Keys, missing: tuple[str, ...]) -> str:
    table, parts = keys.table, keys.key.expression
    if not parts:
        return f"send {', '.join(missing)} as it is: without Absent, IntegrateExpression and a narrower Datatype"
    is_hash = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in parts)
    in_text = [column for column in table.columns if column.name in table.key and _is_exact(column)]
    if not is_hash and len(in_text) == len(table.key):
        return "say MessageKey: '{{hvr_key_names -}}'"
    leave_out = "" if is_hash else ", without MessageKey"
    if keys.flagged:
        flags = [f"{{action: ColumnProperties, table: {table.name}, Name: {name}, {_FLAG}}}" for name in missing]
        return f"flag these columns too: {', '.join(flags)}{leave_out}"
    return f"hash all of the key: {{action: TableProperties, DistributionKeyLimit: 0}}{leave_out}"
