"""DatatypeMatch's conditions, and the little arithmetic of Length, Precision and Scale.

https://fivetran.com/docs/hvr6/action-reference/columnproperties: type[attribute operator value && …], with attributes
prec, scale, bytelen, charlen, encoding and null; sizes like bytelen/3.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from integrator import schema
from integrator.names import meant
from integrator.schema import Column, Type, describe

BYTES_OF_A_CHARACTER = 4  # UTF-8's most, RFC 3629
ALIASES = {
    "number": ("decimal", "numeric"),
    "int": ("integer",),
    "varchar": ("char", "varchar2", "nvarchar"),
    "text": ("clob", "long"),
    "blob": ("binary", "bytes"),
    "double": ("float",),
    "timestamptz": ("timestamp with time zone",),
}
"""Other names under which a datatype is known, in either direction."""

_MATCH = re.compile(r"([A-Za-z]\w*(?: +\w+)*(?:\[\])?)(?:\s*\[(.*)\])?")
_CONDITION = re.compile(r"\s*(prec|scale|bytelen|charlen|encoding|null)\s*(<=|>=|<>|!=|=|<|>)\s*(?:(\d+)|'([^']*)')\s*")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
}


def attributes(column: Column) -> dict[str, int | str]:
    """Return what conditions and sizes can ask of a column; what it has not is not there."""
    known: dict[str, int | str] = {"null": "true" if column.nullable else "false"}
    match column.type:
        case schema.Decimal(precision, scale):
            known |= {"prec": precision, "scale": scale}
        case schema.Timestamp(unit, _) | schema.Time(unit):
            known["prec"] = {"ms": 3, "us": 6, "ns": 9}[unit]
        case schema.String(length, _):
            known["encoding"] = "UTF-8"
            if length is not None:
                known |= {"charlen": length, "bytelen": length * BYTES_OF_A_CHARACTER}
    return known


def matcher(text: str) -> Callable[[Column], bool]:
    """Return whether a column matches. Raises ValueError, with what is accepted, for what is no condition."""
    found = _MATCH.fullmatch(text.strip())
    if not found:
        raise ValueError(
            f"{text!r} is no datatype with conditions; write for example varchar[bytelen>200 && null='true']"
        )
    name, conditions = found[1].lower(), found[2]
    tests = []
    for part in (conditions or "").split("&&") if conditions is not None else []:
        test = _CONDITION.fullmatch(part)
        if not test:
            raise ValueError(
                f"{part.strip()!r} is no condition; write prec, scale, bytelen, charlen (a text's length), encoding or "
                "null, then = <> != < > <= >=, then a whole number or 'text'"
            )
        tests.append((test[1], _COMPARE[test[2]], int(test[3]) if test[3] else test[4]))
    if name not in known_names():
        raise ValueError(f"{name!r} is no datatype; {meant(name, sorted(known_names()))}")

    def matches(column: Column) -> bool:
        known = attributes(column)
        return name in _names(column.type) and all(
            attribute in known and type(known[attribute]) is type(value) and compare(known[attribute], value)
            for attribute, compare, value in tests
        )

    return matches


def known_names() -> set[str]:
    """Return the names that a datatype may be matched by."""
    return {*schema.DATATYPES, *ALIASES, *(name for names in ALIASES.values() for name in names)}


def _names(kind: Type) -> set[str]:
    base = describe(kind).partition("(")[0]
    return {base} | {other for one, others in ALIASES.items() for other in (one, *others) if base in (one, *others)}


def size(given: int | str | None, name: str, column: Column | None) -> int | None:
    """Return a size that is given, or computed from the column's own. Raises ValueError."""
    if not isinstance(given, str):
        return given
    known = {key: value for key, value in (attributes(column) if column else {}).items() if isinstance(value, int)}

    def value(node: ast.AST) -> int:
        match node:
            case ast.Expression(body):
                return value(body)
            case ast.Constant(int() as number):
                return number
            case ast.Name(attribute) if attribute in known:
                return known[attribute]
            case ast.Name(attribute):
                raise ValueError(f"the column has no {attribute}; it has {', '.join(known) or 'none'}")
            case ast.BinOp(left, kind, right) if type(kind) in _ARITHMETIC:
                return _ARITHMETIC[type(kind)](value(left), value(right))
            case _:
                raise ValueError(
                    f"{given!r} is no {name}; write a whole number, or bytelen, charlen, prec, scale and + - * /"
                )

    try:
        made = value(ast.parse(given.strip(), mode="eval"))
    except (SyntaxError, ZeroDivisionError) as error:
        raise ValueError(f"{given!r} is no {name}: {error}") from None
    if made < 0:
        raise ValueError(f"{given!r} is {made} for this column")
    return made
