"""Table definitions in YAML, in HVR's datatypes: a list of tables with their columns and key."""

from __future__ import annotations

from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from integrator import schema
from integrator.errors import Problem
from integrator.schema import Column, Table, Type


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


def read(path: str, text: str, _sql_dialect: str) -> tuple[list[Table], list[Problem]]:
    """Read the `tables:` of the YAML in `text`."""
    try:
        document = _Document.model_validate(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return [], [Problem(path, line, "", f"broken YAML: {error.problem}")]
    except ValidationError as error:
        return [], [Problem(path, 0, ".".join(map(str, e["loc"])), e["msg"]) for e in error.errors()]
    tables: list[Table] = []
    problems: list[Problem] = []
    for table in document.tables:
        columns = []
        for column in table.columns:
            try:
                kind = column.type()
            except KeyError as error:
                problems.append(Problem(path, 0, f"{table.name}.{column.name}", str(error.args[0])))
                continue
            columns.append(Column(column.name, kind, column.nullable and column.name not in table.key))
        absent = sorted(set(table.key) - {column.name for column in table.columns})
        if absent:
            problems.append(Problem(path, 0, f"{table.name}.key", f"names no column: {', '.join(absent)}"))
        tables.append(Table(table.name.lower(), table.name, table.schema_, tuple(columns), tuple(table.key)))
    return tables, problems
