"""Edits of the good channel that many mistakes are made of."""

from __future__ import annotations

LAST = "  - action: Integrate\n"
FILES = "    class: files\n    path: in\n    dialect: wal2json\n"
SNAPSHOT = ("class: snapshot", 'path: "full/{hvr_tbl_name}.csv"', "format: csv")
SCRAM = ("Kafka_Authentication_Method: SCRAM-SHA-512", "Stream_User: me", "Stream_Password: pw")
FULL = [(f"full/{name}.csv", "", "id\n") for name in ("customers", "orders", "items", "products", "payments", "audit")]
"""A file for each table, which a refresh reads."""


def more(text: str) -> tuple[str, str]:
    """Return the edit that puts an action before the last."""
    return LAST, f"  - {text}\n{LAST}"


def column(expression: str, datatype: str = "text", table: str = "customers") -> tuple[str, str]:
    """Return the edit that adds a column with an expression."""
    return more(
        f"{{action: ColumnProperties, Name: x, table: {table}, Extra: true, Datatype: {datatype}, IntegrateExpression: {expression}}}"
    )


def kafka(*lines: str) -> tuple[str, str]:
    """Return the edit that adds properties to the Kafka location."""
    return "    Create_Topics", "".join(f"    {line}\n" for line in lines) + "    Create_Topics"


def source(*lines: str) -> tuple[str, str]:
    """Return the edit that writes the source anew."""
    return FILES, "".join(f"    {line}\n" for line in lines)


def errors(text: str) -> tuple[str, str]:
    """Return the edit that adds what becomes of wrong records."""
    return "state: state\n", f"state: state\nerrors: {text}\n"


def variable(value: str) -> tuple[str, str]:
    """Return the edit that adds properties of librdkafka's."""
    return more(f"{{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: '{value}'}}")
