"""Table definitions people already have: one table in three notations is the same table; types of five databases."""

import pytest

from integrator import tables
from integrator.schema import describe

pytestmark = pytest.mark.fast

DDL = """create table "Items"(
  id bigint not null, name varchar(20), price decimal(10,2) not null, day date, at timestamp(3), tags text[],
  primary key (id));"""
AVSC = """{"type": "record", "name": "x.Items", "key": ["id"], "fields": [
  {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]},
  {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
  {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
  {"name": "at", "type": ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]},
  {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]}]}"""
YAML = """tables:
  - name: Items
    key: [id]
    columns:
      - {name: id, datatype: bigint}
      - {name: name, datatype: varchar, length: 20}
      - {name: price, datatype: decimal, precision: 10, scale: 2, nullable: false}
      - {name: day, datatype: date}
      - {name: at, datatype: timestamp, precision: 3}
      - {name: tags, datatype: "text[]"}
"""


def read(tmp_path, name, text, dialect="postgres"):
    (tmp_path / name).write_text(text)
    made = tables.read(str(tmp_path / name), dialect)
    return made.tables, made.problems


@pytest.mark.parametrize(("name", "text"), [("t.sql", DDL), ("t.avsc", AVSC), ("t.yaml", YAML)])
def test_three_notations_of_one_table(name, text, tmp_path):
    [table], problems = read(tmp_path, name, text)
    assert problems == []
    assert (table.name, table.base_name, table.key) == ("items", "Items", ("id",))
    columns = {column.name: (describe(column.type), column.nullable) for column in table.columns}
    assert columns == {
        "id": ("bigint", False),
        "name": ("varchar(20)" if name != "t.avsc" else "text", True),
        "price": ("decimal(10,2)", False),
        "day": ("date", True),
        "at": ("timestamp(3)", True),
        "tags": ("text[]", True),
    }


TYPES = [
    ("postgres", "bigserial", "bigint"),
    ("mysql", "national varchar(255)", "varchar(255)"),
    ("mysql", "nchar varchar(9)", "varchar(9)"),
    ("mysql", "int8", "bigint"),
    ("mysql", "int1", "smallint"),
    ("mysql", "long", "text"),
    ("mysql", "long varbinary", "blob"),
    ("mysql", "real", "double"),
    ("mysql", "decimal", "decimal(10,0)"),
    ("mysql", "serial", "decimal(20,0)"),
    ("mysql", "float unsigned", "real"),
    ("mysql", "vector(3)", "text"),
    ("tsql", "real", "real"),
    ("tsql", "decimal", "decimal(18,0)"),
    ("tsql", "[sys].[geography]", "text"),
    ("db2", "real", "real"),
    ("db2", "decimal", "decimal(5,0)"),
    ("db2", "varchar(9) for bit data", "blob"),
    ("db2", "clob(10 M octets)", "text"),
    ("db2", "long vargraphic", "text"),
    ("db2", "sysibm.st_point", "text"),
    ("oracle", "decimal", "decimal(38,0)"),
    ("oracle", "numeric(5)", "integer"),
    ("oracle", "mdsys.sdo_geometry", "text"),
    ("oracle", "interval year(3) to month", "interval"),
    ("postgres", "serial8", "bigint"),
    ("postgres", "postgis.geometry(Point,4326)[]", "text[]"),
    ("postgres", "oid[]", "bigint[]"),
    ("postgres", "halfvec(3)", "text"),
    ("postgres", "numeric", "varchar(50)"),
    ("postgres", "numeric(80,2)", "varchar(82)"),
    ("postgres", "real", "real"),
    ("postgres", "timestamptz", "timestamptz(6)"),
    ("postgres", "time", "time(6)"),
    ("postgres", "jsonb", "json"),
    ("postgres", "uuid", "uuid"),
    ("postgres", "bytea", "blob"),
    ("mysql", "bigint unsigned", "decimal(20,0)"),
    ("mysql", "int unsigned", "bigint"),
    ("mysql", "mediumint", "integer"),
    ("mysql", "datetime(3)", "timestamp(3)"),
    ("mysql", "longtext", "text"),
    ("oracle", "number(26)", "decimal(26,0)"),
    ("oracle", "varchar2(9)", "varchar(9)"),
    ("tsql", "money", "decimal(19,4)"),
    ("tsql", "uniqueidentifier", "uuid"),
    ("tsql", "datetime2(3)", "timestamp(3)"),
    ("tsql", "bit", "boolean"),
    ("tsql", "float", "double"),
    ("oracle", "float", "double"),
    ("postgres", "float", "double"),
    ("postgres", "bit(8)", "varchar(8)"),
    ("postgres", "interval", "interval"),
    ("postgres", "interval year to month", "interval"),
    ("postgres", "cidr", "inet"),
    ("postgres", "citext", "text"),
    ("postgres", "varbit(5)", "varchar(5)"),
    ("postgres", "timestamp(9)", "timestamp(9)"),
    ("postgres", "numeric(5,1)[]", "decimal(5,1)[]"),
    ("mysql", "tinyint(1)", "smallint"),
    ("mysql", "tinyint unsigned", "smallint"),
    ("mysql", "smallint unsigned", "integer"),
    ("mysql", "year", "smallint"),
    ("mysql", "inet6", "inet"),
    ("mysql", "inet4", "inet"),
    ("mysql", "datetime", "timestamp(3)"),
    ("mysql", "timestamp(6)", "timestamptz(6)"),
    ("mysql", "time", "time(3)"),
    ("mysql", "time(6)", "time(6)"),
    ("mysql", "enum('x','y')", "enum"),
    ("mysql", "set('x','y')", "enum"),
    ("mysql", "json", "json"),
    ("mysql", "float(53)", "double"),
    ("mysql", "float(7,3)", "real"),
    ("mysql", "double unsigned", "double"),
    ("mysql", "decimal(65,30)", "decimal(65,30)"),
    ("mysql", "binary(16)", "blob"),
    ("oracle", "number", "varchar(50)"),
    ("oracle", "number(6)", "integer"),
    ("oracle", "number(12)", "bigint"),
    ("oracle", "number(10,-2)", "bigint"),
    ("postgres", "numeric(10,-2)", "decimal(12,0)"),
    ("postgres", "national character varying(7)", "varchar(7)"),
    ("postgres", "bit varying(7)", "varchar(7)"),
    ("postgres", "interval day to second(3)", "interval"),
    ("postgres", "character", "varchar(1)"),
    ("postgres", "pg_catalog.int4", "integer"),
    ("postgres", "int4range", "text"),
    ("oracle", "number(*,2)", "decimal(38,2)"),
    ("oracle", "integer", "decimal(38,0)"),
    ("oracle", "date", "timestamp(3)"),
    ("oracle", "timestamp(9)", "timestamp(9)"),
    ("oracle", "timestamp with local time zone", "timestamptz(6)"),
    ("oracle", "interval day(2) to second(6)", "interval"),
    ("oracle", "binary_float", "double"),
    ("oracle", "long", "text"),
    ("oracle", "long raw", "blob"),
    ("oracle", "raw(16)", "blob"),
    ("oracle", "nclob", "text"),
    ("oracle", "rowid", "varchar(50)"),
    ("oracle", "xmltype", "text"),
    ("tsql", "float(24)", "real"),
    ("tsql", "datetime", "timestamp(3)"),
    ("tsql", "smalldatetime", "timestamp(3)"),
    ("tsql", "datetime2", "timestamp(9)"),
    ("tsql", "datetimeoffset(3)", "timestamptz(3)"),
    ("tsql", "nvarchar(max)", "text"),
    ("tsql", "varbinary(max)", "blob"),
    ("tsql", "rowversion", "blob"),
    ("tsql", "smallmoney", "decimal(10,4)"),
    ("tsql", "sql_variant", "text"),
    ("db2", "char(3) for bit data", "blob"),
    ("db2", "varchar(10) for bit data", "blob"),
    ("db2", "decfloat(34)", "varchar(42)"),
    ("db2", "graphic(10)", "varchar(10)"),
    ("db2", "dbclob", "text"),
    ("db2", "timestamp(12)", "timestamp(9)"),
    ("db2", "double", "double"),
    ("db2", "xml", "text"),
    ("spark", "struct<a: int, b: string>", "struct(a integer, b text)"),
]


@pytest.mark.parametrize(("dialect", "written", "type_"), TYPES)
def test_types_of_databases(dialect, written, type_, tmp_path):
    [table], problems = read(tmp_path, "t.sql", f"create table t(c {written})", dialect)
    assert problems == []
    assert describe(table.columns[0].type) == type_


BAD = [
    ("t.sql", "create table t(\n a int", ":2: bad SQL: Expecting )"),
    ("t.sql", "create table t(a int,\n b frobnicate)", ":2: t.b: the type frobnicate is not known"),
    ("t.sql", "select 1", "holds no CREATE TABLE"),
    ("t.avsc", "{", ":1: bad JSON"),
    ("t.avsc", '{"type": "int"}', "expected an Avro record schema with a name"),
    ("t.avsc", '{"type":"record","name":"t","fields":[{"name":"a","type":"duck"}]}', "t.a: the Avro type 'duck'"),
    ("t.yaml", "tables: [", "broken YAML"),
    ("t.yaml", "tables: [{name: t, columns: [{name: a, datatype: duck}]}]", "t.a: 'duck' is no datatype"),
    (
        "t.yaml",
        "tables: [{name: t, key: [b], columns: [{name: a, datatype: text}]}]",
        "t.key: 'b' is no column of the table; its columns are a",
    ),
    ("t.yaml", "tables: [{name: t, colums: []}]", "colums: this key is not known here; do you mean columns?"),
]


def test_an_unknown_sql_is_a_problem(tmp_path):
    _, [problem] = read(tmp_path, "t.sql", "create table t(a int)", "klingon")
    assert "'klingon' is no SQL that is known; accepted are" in str(problem)


@pytest.mark.parametrize(("name", "text", "told"), BAD)
def test_bad_definitions_are_problems(name, text, told, tmp_path):
    _, problems = read(tmp_path, name, text)
    assert told in "\n".join(map(str, problems))
    assert name in str(problems[0])
