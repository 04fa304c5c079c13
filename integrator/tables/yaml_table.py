"""Table definitions in YAML, in HVR's datatypes: a list of tables with their columns and key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from integrator import schema
from integrator.errors import Problem, shown
from integrator.names import meant, nearest
from integrator.schema import Column, Table, Type
from integrator.tables.contract import Notation


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ColumnDefinition(_Model):
    """A column: its name, HVR datatype and sizes."""

    name: str
    datatype: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    nullable: bool = True
    fields: list[ColumnDefinition] = []
    """Of the datatype struct."""

    def type(self) -> Type:
        """Return the column's type. Raises KeyError, with the accepted names, for a datatype that is none."""
        if self.datatype.removesuffix("[]") != "struct":
            return schema.datatype(self.datatype, self.length, self.precision, self.scale)
        if not self.fields:
            raise KeyError("a struct needs fields")
        struct = schema.Struct(tuple(Column(field.name, field.type(), field.nullable) for field in self.fields))
        return schema.Array(struct) if self.datatype.endswith("[]") else struct


class TableDefinition(_Model):
    """A table: its name in the database, its columns, and the columns of its key."""

    name: str
    schema_: str | None = Field(None, alias="schema")
    columns: Annotated[list[ColumnDefinition], Field(min_length=1)]
    key: list[str] = []


class _Document(_Model):
    tables: Annotated[list[TableDefinition], Field(min_length=1)]


def read(path: str, text: str, *_of_sql: object) -> tuple[list[Table], list[Problem]]:
    """Read the `tables:` of the YAML in `text`."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document = _Document.model_validate(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return [], [Problem(path, line, "", f"broken YAML: {error.problem}")]
    except ValidationError as error:
        return [], list(_problems(path, root, error))
    tables: list[Table] = []
    problems: list[Problem] = []
    for at, table in enumerate(document.tables):
        columns = []
        for number, column in enumerate(table.columns):
            try:
                kind = column.type()
            except KeyError as error:
                line = _line(root, ("tables", at, "columns", number, "datatype"))
                problems.append(Problem(path, line, f"{table.name}.{column.name}", str(error.args[0])))
                continue
            columns.append(Column(column.name, kind, column.nullable and column.name not in table.key))
        names = [column.name for column in table.columns]
        for absent in sorted(set(table.key) - set(names)):
            text = f"{absent!r} is no column of the table; {meant(absent, names, 'its columns are')}"
            problems.append(Problem(path, _line(root, ("tables", at, "key")), f"{table.name}.key", text))
        tables.append(Table(table.name.lower(), table.name, table.schema_, tuple(columns), tuple(table.key)))
    return tables, problems


def _problems(path: str, root: yaml.Node | None, error: ValidationError) -> Iterator[Problem]:
    """Yield what is wrong; a key that is missing is none of it where one that is not known may be meant for it."""
    found = [(one["loc"], one["type"], one["msg"], one["input"]) for one in error.errors()]
    unknown = {loc: _known(loc) for loc, kind, _, _ in found if kind == "extra_forbidden"}
    near = {(*loc[:-1], nearest(_asked(loc), known)) for loc, known in unknown.items()}
    for loc, kind, message, given in found:
        text = f"{message}; found {shown(given)}"
        if loc in unknown:
            text = f"this key is not known here; {meant(_asked(loc), unknown[loc])}"
        elif kind == "missing":
            text = "this key is missing"
        if loc not in near or kind != "missing":
            yield Problem(path, _line(root, loc), ".".join(map(str, loc)), text)


def _known(loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are known where one stands."""
    of_column = "columns" in loc[:-1] or "fields" in loc[:-1]
    kind = ColumnDefinition if of_column else TableDefinition if len(loc) > 1 else _Document
    return [field.alias or name for name, field in kind.model_fields.items()]


def _asked(loc: tuple[int | str, ...]) -> str:
    """Return the key that is asked for: a column's `type` is its datatype."""
    return "datatype" if loc[-1] == "type" and len(loc) > 3 else str(loc[-1])


def _line(node: yaml.Node | None, loc: Sequence[int | str]) -> int:
    """Return the line of what is at a place of a YAML document, or of the nearest above it; 0 where there is none."""
    line = 0
    for step in loc:
        if isinstance(node, yaml.MappingNode):
            found = {str(key.value): (key, value) for key, value in node.value}.get(str(step))
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


NOTATION = Notation(read)
