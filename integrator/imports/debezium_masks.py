"""column.mask.… and column.truncate.… of a Debezium connector -> CaptureExpression of a column.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-column-mask-hash. The
connector masks text alone, and in rows, not in keys. Here a mask holds for keys, too: where rows would share one, it is
an error. What cannot be masked is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from integrator.errors import ConfigurationError
from integrator.imports.draft import Draft
from integrator.names.numbers import are, counted
from integrator.schema import Bytes, String, Table, Type

_MASK = re.compile(r"column\.mask\.with\.(\d+)\.chars")
_HASH = re.compile(r"column\.mask\.hash\.(v2\.)?([^.]+)\.with\.salt\.(.+)")
_CUT = re.compile(r"column\.truncate\.to\.(\d+)\.chars")
_ALGORITHMS = {
    "SHA-224": ("encode(sha224({}), 'hex')", 56),
    "SHA-256": ("encode(sha256({}), 'hex')", 64),
    "SHA-384": ("encode(sha384({}), 'hex')", 96),
    "SHA-512": ("encode(sha512({}), 'hex')", 128),
    "MD5": ("md5({})", 32),
}
"""By Java's names, SQL and the characters that it gives.

https://datafusion.apache.org/user-guide/sql/scalar_functions.html#hashing-functions.
"""
_TEXT_ROLES = ("", "enum")
"""Text that the connector masks: not uuid, JSON and their like, which are text here."""
AS_TEXT = (*_TEXT_ROLES, "uuid", "json", "inet")
"""What the connector has as text, and so cuts: not numbers and bits, which are text here."""
SALT = "SALT_SECRET"
"""The environment variable that has a salt; further ones are numbered."""
_V1 = (
    "the hash is of salt and text, as column.mask.hash.v2 makes it: column.mask.hash serializes the text in Java's "
    "way, and gives another"
)


@dataclass(frozen=True)
class Rule:
    """A property that masks or cuts columns. kind: mask, hash or cut; size: of characters. version: of hashes."""

    key: str
    kind: str
    size: int = 0
    version: str = ""
    algorithm: str = ""
    salt: str = ""

    @property
    def shown(self) -> str:
        """The key without its salt."""
        return shown(self.key)


@dataclass(frozen=True)
class Masked:
    """A column that a rule is for. of_key: whether it is of the table's key."""

    table: Table
    column: str
    rule: Rule
    of_key: bool

    @property
    def name(self) -> str:
        """The column as the report names it."""
        return f"{self.table.full_name}.{self.column}"

    @property
    def type(self) -> Type:
        """The column's type; text where there are no definitions."""
        known = self.table.column(self.column)
        return known.type if known is not None else String()

    @property
    def length(self) -> int | None:
        """The most characters that the column has, where that is known."""
        return self.type.length if isinstance(self.type, String) else None


def shown(key: str) -> str:
    """Return a key without its salt: whoever has that can try values."""
    hashed = _HASH.fullmatch(key)
    return key.removesuffix(hashed[3]) + "…" if hashed else key


def rules(keys: Iterable[str]) -> list[Rule]:
    """Return the rules among properties, those that hide most first: a column has one of them."""
    found = []
    for key in keys:
        if mask := _MASK.fullmatch(key):
            found.append(Rule(key, "mask", int(mask[1])))
        elif hashed := _HASH.fullmatch(key):
            found.append(Rule(key, "hash", 0, *(one or "" for one in hashed.groups())))
        elif cut := _CUT.fullmatch(key):
            found.append(Rule(key, "cut", int(cut[1])))
    return sorted(found, key=lambda rule: (("mask", "hash", "cut").index(rule.kind), rule.size))


def import_mask(one: Masked, draft: Draft) -> None:
    """Have a column's values masked or cut; leave it out where that cannot be. Raises ConfigurationError."""
    rule = one.rule
    if rule.kind == "cut":
        _cut(one, draft)
    elif not isinstance(one.type, String) or one.type.role not in _TEXT_ROLES:
        _leave_out(one, draft, f"{rule.shown} masks text alone")
    elif rule.kind == "mask":
        if one.of_key:
            raise _of_key(one, "all rows would have one")
        replaced(draft, one.table, one.column, CaptureExpression="*" * rule.size or "''")
    else:
        _hash(one, draft)


def replaced(draft: Draft, table: Table, column: str, **parameters: Any) -> None:
    """Have something else in the place of a column's value, for keys and headers too."""
    draft.add_action("ColumnProperties", table=table.name, Name=column, **parameters)


def _leave_out(one: Masked, draft: Draft, why: str) -> None:
    """Leave a column out, which is not to be sent as it is; one of the key cannot be."""
    if not one.of_key:
        draft.report.todo(f"{why}: left out; remove Absent to send it as it is", one.name)
        draft.add_action("ColumnProperties", group="KAFKA", table=one.table.name, Name=one.column, Absent=True)
    elif isinstance(one.type, String) and one.type.role in _TEXT_ROLES:
        raise _of_key(one, why)
    else:
        draft.report.todo(f"{why}: sent as it is, for it is of the key", one.name)


def _of_key(one: Masked, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{one.rule.shown}: {one.name} is of the key: {why}; hash it (column.mask.hash.v2.SHA-256.with.salt.…), let "
        "others be the key (message.key.columns), or take it out of the list"
    )


def _cut(one: Masked, draft: Draft) -> None:
    rule, length = one.rule, one.length
    if isinstance(one.type, Bytes) and rule.size:
        replaced(draft, one.table, one.column, TrimDatatype=rule.size)
    elif isinstance(one.type, Bytes):
        _leave_out(one, draft, f"{rule.shown} leaves nothing of bytes")
    elif not isinstance(one.type, String) or one.type.role not in AS_TEXT:
        draft.report.ignore(one.name, f"{rule.shown} cuts text and bytes alone")
    elif length is not None and length <= rule.size:
        draft.report.ignore(one.name, f"it is no longer than {rule.shown} says")
    else:
        if one.of_key:
            raise _of_key(one, "rows that differ after that would have one")
        replaced(draft, one.table, one.column, CaptureExpression=f'sql: left("{one.column}", {rule.size})')


def _hash(one: Masked, draft: Draft) -> None:
    rule = one.rule
    if rule.algorithm.upper() not in _ALGORITHMS:
        _leave_out(one, draft, f"{rule.shown}: {rule.algorithm} is not there ({', '.join(_ALGORITHMS)} are)")
        return
    if "'" in rule.salt:
        _leave_out(one, draft, f"{rule.shown}: a salt with a quotation mark cannot stand in SQL")
        return
    call, size = _ALGORITHMS[rule.algorithm.upper()]
    if one.of_key and one.length is not None and one.length < size:
        length = counted(one.length, "character")
        raise _of_key(one, f"its {length} {are(one.length)} too few for a hash that is another for each value")
    if one.of_key:
        draft.report.differ("keys have the hash, too, where the connector had the value: partitions change", one.name)
    if not rule.version:
        draft.report.differ(_V1, rule.shown)
    text = call.format(f"'{_salt(draft, rule)}' || \"{one.column}\"")
    cut = one.length is not None and one.length < size
    replaced(
        draft, one.table, one.column, CaptureExpression=f"sql: left({text}, {one.length})" if cut else f"sql: {text}"
    )


def _salt(draft: Draft, rule: Rule) -> str:
    """Return the reference to the environment variable that has a salt."""
    names = [name for name in draft.secrets if name.startswith(SALT)]
    for name in names:
        if draft.secrets[name] == rule.salt:
            return f"${{{name}}}"
    return draft.secret(f"the salt of {rule.shown}", f"{SALT}_{len(names) + 1}" if names else SALT, rule.salt)
