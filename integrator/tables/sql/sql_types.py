"""SQL types -> the type tree, by HVR's table.

https://fivetran.com/docs/hvr6/advanced-operations/data-type-mapping/data-type-mapping-for-kafka.
sqlglot reads the SQL of many databases into one set of types. Where databases mean different things by one name, the
tables at the end say what.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.errors import SqlglotError

from integrator import schema
from integrator.names import nearest
from integrator.schema import Column, Type

Kind = exp.DType
Sizes = list[int]
Make = Callable[[Sizes], Type]
Named = Callable[[exp.DataType], Type | None]

INTEGER_DIGITS, BIGINT_DIGITS = 9, 18
"""Oracle's NUMBER(p,0) is an integer up to 9 digits, a bigint up to 18, and exact beyond."""


def _decimal(sizes: Sizes) -> Type:
    return schema.decimal(*(*sizes, None, None)[:2])


def _number(sizes: Sizes) -> Type:
    precision, scale = (*sizes, None, None)[:2]
    if precision is None or scale or precision > BIGINT_DIGITS:
        return schema.decimal(precision, scale)
    return schema.Integer(32 if precision <= INTEGER_DIGITS else 64, one_digit=precision == 1)


def _decimal_of(digits: int) -> Make:
    """Return what makes a number that has so many digits where it is given no size."""
    return lambda sizes: _decimal(sizes or [digits, 0])


def _sized(name: str, default: int | None = None) -> Make:
    return lambda sizes: schema.datatype(name, None, sizes[0] if sizes else default)


def _text(length: int | None = None) -> Make:
    return lambda _: schema.String(length)


def _varchar(sizes: Sizes) -> Type:
    return schema.String(sizes[0] if sizes else None)


def _bits(sizes: Sizes) -> Type:
    return schema.String(sizes[0], "bits") if sizes and sizes[0] > 1 else schema.Boolean()


def _time_of_sql_server(sizes: Sizes) -> Type:
    digits = sizes[0] if sizes else 7
    return schema.Time("us", finer=True) if digits > schema.MAX_MICROS_DIGITS else schema.datatype("time", None, digits)


def _each(make: Make, *kinds: Kind) -> dict[Kind, Make]:
    return dict.fromkeys(kinds, make)


TYPES: dict[Kind, Make] = {
    Kind.BOOLEAN: lambda _: schema.Boolean(),
    Kind.BIT: _bits,
    **_each(lambda sizes: schema.Integer(16, one_digit=sizes == [1]), Kind.TINYINT, Kind.UTINYINT),
    **_each(lambda _: schema.Integer(16), Kind.SMALLINT, Kind.YEAR, Kind.SMALLSERIAL),
    **_each(lambda _: schema.Integer(32), Kind.USMALLINT, Kind.MEDIUMINT, Kind.INT, Kind.SERIAL),
    **_each(lambda _: schema.Integer(64), Kind.UINT, Kind.UMEDIUMINT, Kind.BIGINT, Kind.BIGSERIAL),
    Kind.UBIGINT: lambda _: schema.Decimal(20, 0),
    Kind.FLOAT: lambda _: schema.Float(32),
    **_each(lambda _: schema.Float(64), Kind.DOUBLE, Kind.UDOUBLE),
    **_each(_decimal, Kind.DECIMAL, Kind.UDECIMAL),
    Kind.MONEY: lambda _: schema.Decimal(19, 4),
    Kind.SMALLMONEY: lambda _: schema.Decimal(10, 4),
    Kind.DECFLOAT: _text(42),
    **_each(lambda sizes: schema.String(sizes[0] if sizes else 1), Kind.CHAR, Kind.NCHAR),
    **_each(_varchar, Kind.VARCHAR, Kind.NVARCHAR, Kind.BPCHAR),
    **_each(_text(), Kind.TEXT, Kind.TINYTEXT, Kind.MEDIUMTEXT, Kind.LONGTEXT, Kind.XML, Kind.VARIANT, Kind.HSTORE),
    **_each(_text(), Kind.INT4RANGE, Kind.INT8RANGE, Kind.NUMRANGE, Kind.TSRANGE, Kind.TSTZRANGE, Kind.DATERANGE),
    **_each(_text(), Kind.INT4MULTIRANGE, Kind.INT8MULTIRANGE, Kind.NUMMULTIRANGE, Kind.TSMULTIRANGE),
    **_each(_text(), Kind.TSTZMULTIRANGE, Kind.DATEMULTIRANGE, Kind.POINT),
    Kind.NAME: _text(63),
    Kind.UUID: lambda _: schema.String(36, "uuid"),
    **_each(lambda _: schema.String(None, "json"), Kind.JSON, Kind.JSONB),
    **_each(lambda _: schema.String(None, "enum"), Kind.ENUM, Kind.SET),
    Kind.INET: lambda _: schema.String(50, "inet"),
    **_each(lambda _: schema.Bytes(), Kind.BINARY, Kind.VARBINARY, Kind.BLOB, Kind.TINYBLOB, Kind.MEDIUMBLOB),
    **_each(lambda _: schema.Bytes(), Kind.LONGBLOB, Kind.IMAGE, Kind.ROWVERSION),
    **_each(lambda _: schema.Date(), Kind.DATE, Kind.DATE32),
    Kind.TIME: _sized("time"),
    Kind.TIMETZ: _text(50),
    **_each(_sized("timestamp"), Kind.TIMESTAMP, Kind.TIMESTAMPNTZ, Kind.DATETIME, Kind.DATETIME2),
    **_each(_sized("timestamptz"), Kind.TIMESTAMPTZ, Kind.TIMESTAMPLTZ),
    Kind.SMALLDATETIME: lambda _: schema.Timestamp("ms"),
    Kind.INTERVAL: lambda _: schema.Interval(),
}

_TEXT_IN_POSTGRES = (
    *(
        "line",
        "lseg",
        "box",
        "path",
        "polygon",
        "circle",
        "ltree",
        "lquery",
        "ltxtquery",
        "hstore",
        "pg_lsn",
        "jsonpath",
        "xid",
    ),
    *("xid8", "cid", "tid", "txid_snapshot", "pg_snapshot", "refcursor", "int2vector", "oidvector", "regclass"),
    *("regtype", "regproc", "regprocedure", "regoper", "regoperator", "regnamespace", "regrole", "regconfig"),
    *("regdictionary", "regcollation", "aclitem", "seg", "box2d", "box3d", "raster", "ean13", "isbn", "isbn13"),
    *("ismn", "ismn13", "issn", "issn13", "upc"),
)
"""Types of PostgreSQL whose values are text, as it prints them."""

NAMED: dict[str, Make] = {
    **dict.fromkeys(_TEXT_IN_POSTGRES, _text()),
    '"char"': _text(1),
    "cidr": lambda _: schema.String(50, "inet"),
    **dict.fromkeys(("macaddr", "macaddr8"), _text(50)),
    **dict.fromkeys(("citext", "nclob", "xmltype", "dbclob", "xml", "tsvector", "tsquery"), _text()),
    "varbit": lambda sizes: schema.String(sizes[0] if sizes else None, "varbits"),
    **dict.fromkeys(("graphic", "vargraphic"), _varchar),
    **dict.fromkeys(("rowid", "urowid"), _text(50)),
    **dict.fromkeys(("raw", "bfile"), lambda _: schema.Bytes()),
    "oid": lambda _: schema.Integer(64),
    "sysname": _text(128),
    **dict.fromkeys(("hierarchyid", "sdo_geometry"), _text()),
}
"""Types that sqlglot does not know."""

OF_DATABASE: dict[str, dict[Kind, Make]] = {
    "postgres": {Kind.MONEY: lambda _: schema.Decimal(19, 2, "money")},  # digits of lc_monetary, which are two in most
    "oracle": {
        Kind.DECIMAL: _number,
        Kind.FLOAT: lambda _: schema.Float(64),
        Kind.DATE: lambda _: schema.Timestamp("ms"),
        Kind.BIGINT: _text(),  # LONG
        **_each(lambda _: schema.Decimal(38, 0), Kind.INT, Kind.SMALLINT),
    },
    "tsql": {
        Kind.DECIMAL: _decimal_of(18),
        Kind.FLOAT: lambda sizes: schema.Float(32 if sizes and sizes[0] <= 24 else 64),
        Kind.TIME: _time_of_sql_server,
        Kind.DATETIME: lambda _: schema.Timestamp("ms"),
        Kind.DATETIME2: _sized("timestamp", 7),
        Kind.TIMESTAMP: _sized("timestamp", 7),
        Kind.TIMESTAMPTZ: _sized("timestamptz", 7),
    },
    "mysql": {
        **_each(_decimal_of(10), Kind.DECIMAL, Kind.UDECIMAL),
        Kind.SERIAL: lambda _: schema.Decimal(20, 0),  # bigint unsigned
        Kind.FLOAT: lambda sizes: schema.Float(64 if len(sizes) == 1 and sizes[0] > 24 else 32),
        **_each(_sized("timestamp", 0), Kind.DATETIME, Kind.TIMESTAMP),
        Kind.TIMESTAMPTZ: _sized("timestamptz", 0),
        Kind.TIME: _sized("time", 0),
    },
    "db2": {
        Kind.DECIMAL: _decimal_of(5),
        Kind.FLOAT: lambda sizes: schema.Float(32 if sizes and sizes[0] <= 24 else 64),
        Kind.TIME: _sized("time", 0),
    },
}
"""What a database means by a type, where that is not what most mean; and its default digits of a second."""


_STANDARD = (
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "decimal", "numeric", "char", "varchar",
    "text", "uuid", "json", "jsonb", "bytea", "date", "time", "timestamp", "timestamptz", "interval", "number",
    "varchar2", "nvarchar", "datetime", "varbinary", "blob", "clob",
)  # fmt: skip
"""Types that one may be meant for that is not known."""


def type_of(kind: exp.DataType, sql_dialect: str, named: Named) -> Type:
    """Return the type that a column's SQL type stands for. Raises KeyError, with the reason.

    named: returns the type of a name that the file defines, or None.
    """
    if isinstance(kind.this, exp.Interval):
        return schema.Interval()
    if kind.this in (Kind.ARRAY, Kind.LIST):
        return schema.Array(type_of(kind.expressions[0], sql_dialect, named))
    if kind.this == Kind.STRUCT:
        fields = (part for part in kind.expressions if isinstance(part, exp.ColumnDef))
        return schema.Struct(tuple(_field(part, sql_dialect, named) for part in fields))
    given = [_size(part) for part in kind.expressions if isinstance(part, exp.DataTypeParam)]
    sizes = [size for size in given if size is not None]
    if kind.this == Kind.USERDEFINED or not isinstance(kind.this, Kind):
        defined = named(kind)
        if defined is not None:
            return defined
        schema_, _, name = kind.sql(dialect="postgres").partition("(")[0].rpartition(".")
        if schema_ == "pg_catalog":
            return type_of(_built_in(name), sql_dialect, named)
        make = NAMED.get(name if name.startswith('"') else name.lower())
    else:
        make = OF_DATABASE.get(sql_dialect, {}).get(kind.this) or TYPES.get(kind.this)
    if make is None:
        near = nearest(kind.sql().partition("(")[0], [*_STANDARD, *NAMED])
        text = "declare it as text, as one of the standard types, or define it above (CREATE DOMAIN, CREATE TYPE)"
        raise KeyError(f"the type {kind.sql()} is not known; {f'do you mean {near}?' if near else text}")
    return make(sizes)


def _built_in(name: str) -> exp.DataType:
    try:
        return exp.DataType.build(name, dialect="postgres")
    except SqlglotError:
        raise KeyError(f"the type pg_catalog.{name} is not known; declare it as text") from None


def _field(part: exp.ColumnDef, sql_dialect: str, named: Named) -> Column:
    kind = part.args.get("kind")
    if kind is None:
        raise KeyError(f"the field {part.name} has no type")
    return Column(part.name, type_of(kind, sql_dialect, named))


def _size(part: exp.DataTypeParam) -> int | None:
    """Return a size in brackets: MAX is none, and Oracle's * is 38."""
    text = part.this.sql()
    if text == "*":
        return 38
    if text.isidentifier() and text.upper() != "MAX":
        raise KeyError(f"{text!r} is no size of a type; write a number")
    return int(text) if text.isdigit() else None
