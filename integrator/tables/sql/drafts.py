"""Tables while their file is read, statement by statement, and what they are at its end: columns, types and key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from integrator.schema import Column, Table
from integrator.tables.sql import constants
from integrator.tables.sql.cursor import Name
from integrator.tables.sql.items import ColumnItem, ComputedItem, Item, KeyItem, NotNullItem
from integrator.tables.sql.lexical import NotUnderstood
from integrator.tables.sql.named_types import NamedTypes


@dataclass
class Draft:
    """A table as far as it is read.

    nullable: what a later statement sets for columns. identity: the index that REPLICA IDENTITY names.
    computed: columns that no change has.
    parents: tables whose columns it has too. whole: the table that it is a partition of, whose keys it has too.
    """

    name: Name
    line: int
    columns: dict[str, ColumnItem] = field(default_factory=dict)
    keys: list[KeyItem] = field(default_factory=list)
    nullable: dict[str, tuple[bool, int]] = field(default_factory=dict)
    identity: tuple[str, int] | None = None
    parents: list[tuple[Name, int]] = field(default_factory=list)
    whole: tuple[Name, int] | None = None
    computed: set[str] = field(default_factory=set)

    def add(self, items: Iterable[Item]) -> None:
        """Add columns and constraints."""
        for item in items:
            match item:
                case ColumnItem():
                    if item.name in self.columns:
                        raise NotUnderstood(f"column {item.name!r} is there twice", item.line, str(self.name))
                    self.columns[item.name] = item
                    if item.primary or item.unique:
                        self.keys.append(self._named(KeyItem((item.name,), item.line, item.primary, item.key_name)))
                case ComputedItem(column):
                    self.computed.add(column)
                case NotNullItem(column, line):
                    self.nullable[column] = (False, line)
                case KeyItem():
                    self.keys.append(self._named(item))

    def like(self, other: Draft, *, with_keys: bool) -> None:
        """Add the columns of another table, and its keys."""
        self.add(replace(item, primary=False, unique=False) for item in other.columns.values())
        nullable = dict(other.nullable)
        for key in other.keys:
            if key.primary:
                nullable |= dict.fromkeys(key.columns, (False, key.line))
            if with_keys:
                self.keys.append(self._named(replace(key, name=None)))
        self.nullable |= nullable

    def redefine(self, old: str, item: ColumnItem) -> None:
        """Give a column another type, or another name, at its place."""
        given, old = old, self.own(old)
        if old not in self.columns:
            raise self.no_column(old, item.line)
        name = old if item.name == given else item.name
        merged = replace(item, kind=item.kind or self.columns[old].kind, name=name)
        self.columns = {
            (merged.name if name == old else name): (merged if name == old else kept)
            for name, kept in self.columns.items()
        }
        self.nullable.pop(old, None)

    def set_default(self, name: str, default: str | None) -> None:
        """Give a column another default, or none; one of a parent stays as it is there."""
        name = self.own(name)
        if name in self.columns:
            self.columns[name] = replace(self.columns[name], default=default)

    def drop_column(self, name: str, line: int) -> None:
        """Take a column away, and the keys that have it."""
        name = self.own(name)
        if name not in self.columns and not self.parents and name not in self.computed:
            raise self.no_column(name, line)
        self.columns.pop(name, None)
        self.nullable.pop(name, None)
        self.keys = [key for key in self.keys if name not in key.columns]

    def own(self, name: str) -> str:
        """Return the column's name as the table has it: that name, or the only one that is so but for case."""
        same = [column for column in self.columns if column.lower() == name.lower()]
        return same[0] if name not in self.columns and len(same) == 1 else name

    def no_column(self, name: str, line: int) -> NotUnderstood:
        """Return the error for a column that is not there."""
        return NotUnderstood(f"names no column: {name}; there are {', '.join(self.columns)}", line, str(self.name))

    def _named(self, key: KeyItem) -> KeyItem:
        """Return a key with the name that PostgreSQL gives to one without."""
        if key.name is not None:
            return key
        parts = [self.name.name, "pkey"] if key.primary else [self.name.name, *key.columns, "key"]
        return replace(key, name="_".join(parts))


@dataclass
class Drafts:
    """The tables of a file. passed: those that are not read, such as temporary ones; statements of them say nothing.

    inherited: tables from which others are made to inherit after they were created.
    """

    types: NamedTypes
    known: dict[Name, Draft] = field(default_factory=dict)
    passed: set[Name] = field(default_factory=set)
    inherited: set[Name] = field(default_factory=set)

    def find(self, name: Name) -> Draft | None:
        """Return the table of that name: where one of the names has no schema, the only one."""
        if name in self.known:
            return self.known[name]
        same = [
            one for one in self.known.values() if one.name.name == name.name and None in (one.name.schema, name.schema)
        ]
        if not same and self.types.sql_dialect in ("mysql", "tsql"):  # whose names are the same in other case
            same = [one for one in self.known.values() if str(one.name).lower() == str(name).lower()]
        return same[0] if len(same) == 1 else None

    def drop(self, name: Name) -> None:
        """Take a table away, if it is there."""
        found = self.find(name)
        if found is not None:
            del self.known[found.name]

    def drop_index(self, name: str) -> None:
        """Take the keys away that are indexes of that name."""
        for draft in self.known.values():
            draft.keys = [key for key in draft.keys if key.primary or key.name != name]

    def give_up(self, name: Name) -> None:
        """Pass over a table that has a problem, and all further statements of it."""
        self.drop(name)
        self.passed.add(name)

    def is_passed(self, name: Name) -> bool:
        """Return whether statements of that table say nothing."""
        return name in self.passed or any(
            one.name == name.name and None in (one.schema, name.schema) for one in self.passed
        )

    def get(self, name: Name, line: int) -> Draft:
        """Return the table of that name. Raises NotUnderstood where the file does not define it before."""
        found = self.find(name)
        if found is None and self.is_passed(name):
            raise NotUnderstood(f"the table {name} is not read, which is named above this line", line, str(name))
        if found is None:
            raise NotUnderstood(f"the file does not define the table {name} above this line", line, str(name))
        return found

    def finished(self) -> Iterator[Table | NotUnderstood]:
        """Yield the tables, in the order of the file, or what is wrong with one."""
        for draft in self.known.values():
            try:
                whole = self._whole(draft)
                columns, problems = self._columns(whole)
                yield from problems
                if not problems and columns:
                    table = _table(whole, columns)
                    yield replace(table, part_of=self._part_of(draft), inherited=self._has_heirs(draft))
            except NotUnderstood as wrong:
                yield wrong

    def _part_of(self, draft: Draft) -> tuple[str, ...]:
        if draft.whole is None:
            return ()
        whole = self.get(*draft.whole)
        return (str(whole.name), *self._part_of(whole))

    def _has_heirs(self, draft: Draft) -> bool:
        made = any(self.find(name) is draft for name in self.inherited)
        return made or any(self.get(*parent) is draft for one in self.known.values() for parent in one.parents)

    def _whole(self, draft: Draft) -> Draft:
        """Return a table with what it has from its parents, or from the table that it is a partition of."""
        columns: dict[str, ColumnItem] = {}
        nullable: dict[str, tuple[bool, int]] = {}
        for name, line in draft.parents:
            parent = self._whole(self.get(name, line))
            columns |= {one: replace(item, primary=False, unique=False) for one, item in parent.columns.items()}
            nullable |= parent.nullable
            for key in parent.keys:
                nullable |= dict.fromkeys(key.columns, (False, key.line)) if key.primary else {}
        never_null = {name for name, item in columns.items() if item.nullable is False}
        own = {
            name: replace(item, nullable=False) if name in never_null else item for name, item in draft.columns.items()
        }
        keys = list(draft.keys)
        if draft.whole is not None:
            whole = self._whole(self.get(*draft.whole))
            own, nullable = own or whole.columns, whole.nullable
            keys += [key for key in whole.keys if not any(one.primary for one in draft.keys)]
        return replace(draft, columns=columns | own, nullable=nullable | draft.nullable, keys=keys)

    def _columns(self, draft: Draft) -> tuple[dict[str, Column], list[NotUnderstood]]:
        columns, problems = {}, []
        for item in draft.columns.values():
            where = f"{draft.name}.{item.name}"
            if item.kind is None:
                problems.append(NotUnderstood("the column has no type", item.line, where))
                continue
            try:
                kind = self.types.type_of(item.kind)
            except KeyError as error:
                problems.append(NotUnderstood(str(error.args[0]), item.line, where))
                continue
            nullable = draft.nullable.get(item.name, (item.nullable is not False, 0))[0]
            nullable = nullable and not self.types.is_not_null(item.kind)
            default = constants.value_of(item.default, kind)
            columns[item.name] = Column(item.name, kind, nullable, any_case=item.any_case, default=default)
        for name, (_, line) in draft.nullable.items():
            if name not in draft.columns:
                problems.append(draft.no_column(name, line))
        return columns, problems


def _table(draft: Draft, columns: dict[str, Column]) -> Table:
    keys = [
        replace(key, columns=tuple(_column(draft, name, key.line) for name in key.columns))
        for key in draft.keys
        if draft.computed.isdisjoint(key.columns)
    ]
    primary = next((key for key in keys if key.primary), None)
    for name in primary.columns if primary else ():
        columns[name] = replace(columns[name], nullable=False)
    key = _chosen(draft, keys, columns)
    listed = tuple(columns.values())
    return Table(draft.name.name.lower(), draft.name.name, draft.name.schema, listed, key)


def _chosen(draft: Draft, keys: list[KeyItem], columns: dict[str, Column]) -> tuple[str, ...]:
    """Return the key: that of the replica identity, else the primary one, else the first unique one without nulls."""
    usable = [key for key in keys if key.usable and not any(columns[name].nullable for name in key.columns)]
    if draft.identity is not None:
        name, line = draft.identity
        found = next((key for key in usable if key.name == name), None)
        if found is None:
            wanted = "a unique index of NOT NULL columns, without WHERE and expressions, that the file defines"
            raise NotUnderstood(f"REPLICA IDENTITY USING INDEX {name}: expected {wanted}", line, str(draft.name))
        return found.columns
    usable.sort(key=lambda key: not key.primary)
    return usable[0].columns if usable else ()


def _column(draft: Draft, name: str, line: int) -> str:
    """Return the column that a key names: exactly, or the only one that is so but for case."""
    own = draft.own(name)
    if own not in draft.columns:
        raise draft.no_column(name, line)
    return own
