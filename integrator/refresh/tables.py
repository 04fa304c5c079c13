"""One slice of a table as a Spark DataFrame, with the columns that the channel's table has, named as in the source.

PostgreSQL, MySQL and MariaDB are asked for text, which is read as exactly as in their change streams; other databases
give what their drivers make of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from integrator import schema
from integrator.channel.paths import is_uri
from integrator.contracts.table_recipe import TableRecipe
from integrator.errors import EnvironmentFault, shortened
from integrator.schema import Column, Table
from integrator.sources.jdbc_drivers import DRIVERS
from integrator.sources.tables import Database, Snapshot, TableSource

POSTGRES, MYSQL, MARIADB = "postgresql", "mysql", "mariadb"
_SESSION = {
    POSTGRES: "set timezone = 'UTC'; set bytea_output = 'hex'; set intervalstyle = 'postgres'; set datestyle = 'ISO'; "
    "set row_security = off",  # policies would hide rows: then the query is an error
    MYSQL: "set time_zone = '+00:00'",
    MARIADB: "set time_zone = '+00:00'",
}
"""What makes text that is the same for all sessions."""
_FILES = {
    "csv": {"header": "true", "escape": '"', "multiLine": "true", "emptyValue": "", "nullValue": "\ufdd0"},
    "json": {},
}
"""How files are read where options do not say otherwise: CSV as in RFC 4180; an empty field is null, a quoted
one is empty text (Spark takes a noncharacter for null, which nobody writes)."""
_OF_SPARK = re.compile(r"^\[[A-Z_.]+\] | SQLSTATE: \w+")
"""What is Spark's own in its errors (https://spark.apache.org/docs/latest/sql-error-conditions.html)."""
_UNREADABLE = re.compile(
    r"\[(?:MALFORMED|CAST|CANNOT_PARSE|ARITHMETIC|NUMERIC|DATETIME|FAILED_READ_FILE)[^]\n]*\] ?"
    r"(.*?)(?: SQLSTATE: \w+)?$",
    re.MULTILINE,
)
"""Spark's conditions for values."""
_FAILED = re.compile(r"^[ \t]*Caused by: \S*SQL\w*Exception: (.*)$", re.MULTILINE)
"""The message of a JDBC driver, in a trace of the JVM."""
QUERY_FAILED = "the query failed at the database"
_SAMPLE_ROWS = 1000
"""Rows of JSON files in which the names are searched for."""


def quoting(database: str) -> Callable[[str], str]:
    """Return how a database writes names."""
    mark = "`" if database in ("spark", MYSQL, MARIADB) else '"'
    return lambda name: mark + name.replace(mark, mark * 2) + mark


def frame(spark: SparkSession, source: TableSource, recipe: TableRecipe, condition: str) -> DataFrame:
    """Return the rows of a table for which `condition` is true; all of them if it is empty. Raises EnvironmentFault."""
    table = recipe.in_source
    try:
        if isinstance(source, Database):
            bits = _bits(spark, source, table) if source.database in (MYSQL, MARIADB) else {}
            return query(spark, source, _select(table, source.database, condition, bits))
        read = _files(spark, source, table)
        return read.where(condition) if condition else read
    except AnalysisException as error:
        text = _OF_SPARK.sub("", str(error).splitlines()[0])
        raise EnvironmentFault(f"table {table.name}: cannot be read: {text}") from error


def unreadable(text: str) -> list[str]:
    """Return why Spark could not read rows, as the text of its failure says: where it was, then why; of others none."""
    return list(dict.fromkeys(_UNREADABLE.findall(text)))


def query_failure(text: str) -> str:
    """Return the reason of a query that failed at a database, from the text of Spark's failure; nothing of others."""
    found: list[str] = _FAILED.findall(text)
    return found[-1].strip() if found else ""


@contextmanager
def answered(name: str) -> Iterator[None]:
    """Raise EnvironmentFault for a query that fails at a database. name: of the table or database."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        reason = query_failure(str(error))
        if not reason:
            raise
        raise EnvironmentFault(f"{name}: {QUERY_FAILED}: {shortened(reason)}") from error


def query(spark: SparkSession, source: Database, text: str) -> DataFrame:
    """Return the result of a query."""
    database, location = source.database, source.location
    url = location.url
    if database == MARIADB:  # Spark knows how MySQL writes names, and not that MariaDB does as well
        url = url.replace("jdbc:mariadb:", "jdbc:mysql:", 1) + ("&" if "?" in url else "?") + "permitMysqlScheme"
    options = {"url": url, "query": text, "fetchsize": str(location.fetch_rows), "preferTimestampNTZ": "true"}
    options |= location.options
    if database in _SESSION:
        options.setdefault("sessionInitStatement", _SESSION[database])
    driver = location.driver or DRIVERS.get(database)
    given = {"user": location.user, "password": location.password, "driver": driver}
    options |= {name: value for name, value in given.items() if value is not None}
    try:
        return spark.read.format("jdbc").options(**options).load()
    except (PySparkException, Py4JError) as error:
        texts = [str(one).splitlines() for one in (error, getattr(error, "_cause", None)) if one]
        reason = "; ".join(line.strip() for lines in texts for line in lines[:2] if line and "\tat " not in line)
        raise EnvironmentFault(f"{source.describe()}: cannot be queried: {reason}") from error


def _bits(spark: SparkSession, source: Database, table: Table) -> dict[str, int]:
    """Return the columns of bits that MySQL's table has, and how many each has: it gives them as bytes."""
    of_schema = "'" + table.schema.replace("'", "''") + "'" if table.schema else "database()"
    name = table.base_name.replace("'", "''")
    text = (
        "select column_name as name, numeric_precision as length from information_schema.columns "  # noqa: S608
        f"where table_schema = {of_schema} and table_name = '{name}' and data_type = 'bit'"
    )
    with answered(source.describe()):
        return {str(row["name"]): int(row["length"]) for row in query(spark, source, text).collect()}


def _select(table: Table, database: str, condition: str, bits: dict[str, int]) -> str:
    quote = quoting(database)
    asked = {column.name: _asked(column, database, quote) for column in table.columns}
    asked |= {name: f"lpad(bin({quote(name)} + 0), {length}, '0')" for name, length in bits.items() if name in asked}
    columns = ", ".join(f"{expression} as {quote(name)}" for name, expression in asked.items())
    name = ".".join(quote(part) for part in (table.schema, table.base_name) if part)
    only = "only " if table.inherited and database == "postgresql" else ""  # rows of an heir are in its own table
    query = f"select {columns} from {only}{name}"  # noqa: S608 - names are quoted, and the condition is the channel's SQL
    return f"{query} where {condition}" if condition else query


def _asked(column: Column, database: str, quote: Callable[[str], str]) -> str:
    """Return what is selected for a column: text, in which no digit and no blank is lost."""
    name = quote(column.name)
    match database, column.type:
        case "postgresql", schema.String():  # ::text would cut blanks off char(n); (1,) is neither null nor not null
            return f"case when {name} is distinct from null then format('%s', {name}) end"
        case "postgresql", schema.Decimal(role="money"):  # whose text is as lc_monetary has it
            return f"{name}::numeric::text"
        case "postgresql", schema.Array(schema.Decimal(role="money")):
            return f"{name}::numeric[]::text"
        case "postgresql", _:
            return f"{name}::text"
        case (("mysql" | "mariadb"), schema.Bytes()):
            return f"hex({name})"
        case (("mysql" | "mariadb"), schema.Boolean()):
            return f"cast({name} + 0 as char)"
        case (("mysql" | "mariadb"), schema.Float(bits=32)):
            return f"cast(cast({name} as double) as char)"
        case (("mysql" | "mariadb"), schema.Timestamp(zoned=True)):
            return f"concat(cast({name} as char), '+00:00')"
        case (("mysql" | "mariadb"), _):
            return f"cast({name} as char)"
        case _:
            return name


def _files(spark: SparkSession, source: Snapshot, table: Table) -> DataFrame:
    path, location = source.path_of(table), source.location
    place = path if is_uri(path) else f"file://{path}"  # else of fs.defaultFS: beside Hadoop, no disk
    options = {"mode": "FAILFAST", **_FILES.get(location.format, {}), **location.options}
    reader = spark.read.format(location.format).options(**options)
    if location.format == "json":
        written = _names(spark.read.text(place), path, table)
        reader = reader.schema(StructType([StructField(name, StringType()) for name in written]))
    read = reader.load(place)
    known = {name.lower(): name for name in read.columns}
    absent = [column.name for column in table.columns if column.name.lower() not in known]
    if absent:
        raise EnvironmentFault(
            f"{path}: has no {', '.join(absent)}, which table {table.name} has; it has {', '.join(read.columns)}"
        )
    return read.select(*(f.col(f"`{known[column.name.lower()]}`").alias(column.name) for column in table.columns))


def _names(lines: DataFrame, path: str, table: Table) -> list[str]:
    """Return a table's columns as the first lines of JSON files at `path` call them; rows may leave out what is null.

    Raises EnvironmentFault where a column has no name there, and a name no column.
    """
    found: dict[str, str] = {}
    for row in lines.limit(_SAMPLE_ROWS).collect():
        try:
            record = json.loads(row["value"])
        except ValueError:  # written over several lines
            continue
        found |= {str(name).lower(): str(name) for name in record} if isinstance(record, dict) else {}
    columns = {column.name.lower(): column.name for column in table.columns}
    absent, others = columns.keys() - found.keys(), found.keys() - columns.keys()
    if absent and others:
        lost = ", ".join(columns[name] for name in columns if name in absent)
        present = ", ".join(found.values())
        raise EnvironmentFault(f"{path}: has no {lost}, which table {table.name} has; its first rows have {present}")
    return [found.get(name, column) for name, column in columns.items()]
