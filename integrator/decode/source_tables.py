"""Which table of the channel a record is of: by the schema and the exact name that it gives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from integrator.contracts.streams import Source, check_one_source
from integrator.errors import Fault, Place, PublicDataError
from integrator.schema import Table

OF_OTHERS = "pg_catalog", "other tables"
"""The schema and name of rows of others where changes of one table are held. No database has such a table."""


class Catalogue:
    """The tables of a channel by their names in it and in the source. absent: those that are counted and not sent."""

    def __init__(self, tables: Sequence[Table], absent: Sequence[Table]) -> None:
        self.names = ", ".join(sorted(table.name for table in tables))
        self.absent = {table.name for table in absent}
        self._tables: dict[str, list[Table]] = {}
        self._partitions: dict[str, Table] = {}
        self._bare: dict[str, Table] = {}
        self._patterns: list[tuple[str, Table]] = []
        self.partitioned = any(table.partitions for table in (*tables, *absent))
        self._wholes = {name for table in (*tables, *absent) for name in table.part_of}
        for table in (*tables, *absent):
            for name in {table.name.lower(), table.base_name.lower()}:
                self._tables.setdefault(name, []).append(table)
            for name in table.partitions:
                if "*" in name:
                    self._patterns.append((name, table))
                else:
                    self._partitions[name] = self._bare[name.rpartition(".")[2]] = table

    def whole(self, source: Source) -> Table | None:
        """Return the table of which a table of the source is a partition; None where it is none that is known."""
        schema, name, _ = source
        names = (f"{schema}.{name}", name) if schema else (name,)
        given = self._partitions if schema else self._bare
        found = given.get(names[0]) or self._partitions.get(name)
        if found is not None or self.matching(source):
            return found
        found_by = [table for pattern, table in self._patterns if any(fnmatchcase(one, pattern) for one in names)]
        return found_by[0] if found_by else None

    def truncated(self, source: Source) -> str:
        """Return as what truncates of a table of the source are counted that are no truncate of a table; else ""."""
        if self.whole(source) is not None:
            return "truncates of partitions"
        of_leaves = source.full_name in self._wholes and not self.matching(source)
        return "truncates of partitioned tables" if of_leaves else ""

    def matching(self, source: Source) -> list[Table]:
        """Return the tables that a record of this schema and name may be of.

        The exact name comes before the same in other case. A record without a schema may also have the channel's name;
        a table without one comes before others for it.
        """
        schema, name, database = source
        full = f"{database}.{schema}" if database else schema
        candidates = self._tables.get(name.lower(), ())

        def of(same: Callable[[str, str], bool]) -> list[Table]:
            named = [one for one in candidates if same(one.base_name, name) or (not schema and same(one.name, name))]
            fitting = [
                one
                for one in named
                if not (one.schema and schema and full) or same(one.schema, schema) or same(one.schema, full)
            ]
            return [one for one in fitting if bool(one.schema) == bool(schema)] or fitting

        return of(operator.eq) or of(lambda one, other: one.lower() == other.lower())


class SourceTables:
    """The tables of a channel, looked up for the records of one file.

    One table of the channel takes the records of one table of the source. A definition names neither the database nor,
    in each case, the schema, and could take those of several: the first one is kept, and another one is an error.
    any_database: it may be a table of each database, as where there are several source locations.
    """

    def __init__(
        self, catalogue: Catalogue, *, ignores_unknown: bool, known: Mapping[str, Source], any_database: bool = False
    ) -> None:
        self._catalogue, self._ignores_unknown, self._any_database = catalogue, ignores_unknown, any_database
        self._known, self.new = known, dict[str, Source]()
        self._found: dict[tuple[bool, Source], Table | str] = {}

    def saved(self) -> Callable[[], None]:
        """Return what sets it back to what it is now."""
        new, found = dict(self.new), dict(self._found)

        def restore() -> None:
            self.new, self._found = new, found

        return restore

    def find(self, source: Source, where: Place, *, by_topic: bool = False) -> Table | str:
        """Return the table of a record that stands at `where`; or as what it is counted, and not sent.

        by_topic: the record names no table, and `source` is the one that its topic has the records of; what else there
        is before the table in a topic's name need not be its database. Raises DataError for a record of a table that
        the channel does not have, that may be of two tables, or that is of a second table of the source.
        """
        key = by_topic, source
        if key not in self._found:
            self._found[key] = self._look_up(source, where, by_topic=by_topic)
        return self._found[key]

    def truncated(self, source: Source) -> str:
        """Return as what truncates of a table are counted, where they are no truncate of a table; else empty text."""
        return self._catalogue.truncated(source)

    def _look_up(self, source: Source, where: Place, *, by_topic: bool) -> Table | str:
        if not source.name:
            raise PublicDataError(
                Fault(where, "the name of the record's table is empty text; the source must write it")
            )
        if (source.schema, source.name) == OF_OTHERS:
            return "rows of absent tables"
        whole = self._catalogue.whole(source) if self._catalogue.partitioned else None
        found = [whole] if whole is not None else self._catalogue.matching(source)
        if not found and by_topic:
            found = self._catalogue.matching(source._replace(database=None))
        if len(found) > 1:
            tables = ", ".join(sorted(str(Source(table.schema, table.base_name)) for table in found))
            raise PublicDataError(
                Fault(
                    where,
                    f"a change of table {source} may be of several tables of the channel: {tables}; the "
                    "source must write the schema, and the definition must have it",
                )
            )
        if found:
            of_whole = source if whole is None else source._replace(schema=whole.schema, name=whole.base_name)
            if not by_topic:
                self._keep(found[0], of_whole, where)
            return "rows of absent tables" if found[0].name in self._catalogue.absent else found[0]
        if self._ignores_unknown:
            return "rows of unknown tables"
        remedy = ", or give the source location the table of its topics (table)" if by_topic else ""
        raise PublicDataError(
            Fault(
                where,
                f"a change of table {source}, which the channel does not have; its tables are "
                f"{self._catalogue.names}; define it{remedy}, or set unknown_tables: ignore at the source location",
            )
        )

    def _keep(self, table: Table, source: Source, where: Place) -> None:
        """Keep of which table of the source a table is. Raises DataError."""
        given = source._replace(name=table.base_name) if source.name == table.name else source
        given = given._replace(database=None) if self._any_database else given
        known = self._known if table.name in self._known else self.new
        if check_one_source(known, table.name, given, where) is given:
            self.new[table.name] = given
