"""Programs of tables: which can share a recipe, and which have one of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.divided import row_program_of
from integrator.encode.row_program import RowProgram
from integrator.expressions.parts import depends_on
from integrator.schema import Table


@dataclass(frozen=True, eq=False)
class TableProgram:
    """How the rows of a table, or of several that differ in their names only, are made into messages.

    recipe: by which all is computed; without a name where it is of several. shared: the program that needs less than
    that, where there is one.
    """

    recipe: TableRecipe
    shared: RowProgram | None


class Programs:
    """The programs of a channel's tables, made when they are needed; the same ones are one object."""

    def __init__(self, channel: Recipe) -> None:
        self._channel = channel
        self._of_table: dict[str, TableProgram] = {}
        self._unnamed: dict[TableRecipe, TableProgram] = {}
        self._shared: dict[TableRecipe, TableRecipe] = {}

    def of(self, name: str) -> TableProgram:
        """Return the program of a table."""
        if name not in self._of_table:
            table = self._channel.by_name[name]
            unnamed = _without_name(table)
            if unnamed is None:
                self._of_table[name] = TableProgram(table, None)
            elif unnamed in self._unnamed:
                self._of_table[name] = self._unnamed[unnamed]
            else:
                program = TableProgram(unnamed, self._row_program(table, unnamed))
                self._of_table[name] = self._unnamed[unnamed] = program
        return self._of_table[name]

    def _row_program(self, table: TableRecipe, unnamed: TableRecipe) -> RowProgram | None:
        program = row_program_of(table, unnamed, self._channel)
        if program is None:
            return None
        return replace(program, recipe=self._shared.setdefault(program.recipe, program.recipe))


def _without_name(table: TableRecipe) -> TableRecipe | None:
    """Return what a table's rows are made by, without its name; None where its name is in a counter or a capture."""
    capture = table.capture
    of_capture = [*(parts for _, parts in capture.expressions), capture.addresses, capture.conditions]
    named = any(depends_on(parts, "table") for parts in of_capture)
    if named or capture.coalesce or capture.trims or table.coercion.policy not in ("FATAL", "SILENT"):
        return None
    return replace(
        table,
        table=_unnamed(table.table),
        capture=replace(capture, table=capture.table and _unnamed(capture.table)),
        in_database=None,
        topic="",
        not_in_keys=(),
        value_id=None,
        key_id=None,
        value_record="",
        key_record="",
    )


def _unnamed(table: Table) -> Table:
    return Table("", "", None, table.columns, table.key)
