"""TableProperties (https://fivetran.com/docs/hvr6/action-reference/tableproperties)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from integrator.channel.base import InContext, parameter


def _as_word(value: object) -> object:
    """Return the word that YAML took for true or false."""
    return {True: "YES", False: "NO"}.get(value, value) if isinstance(value, bool) else value


class TableProperties(InContext):
    """Properties of a table."""

    EXAMPLE: ClassVar[str] = """\
- {action: TableProperties, table: orders, Schema: SALES, BaseName: ORDERS}
# all of the key is hashed
- {action: TableProperties, DistributionKeyLimit: 0}
- {action: TableProperties, CoerceErrorPolicy: WARNING_FILE, CoerceErrorType: STRING_TRUNCATION}
- {action: TableProperties, table: audit, Absent: true}
"""

    action: Literal["TableProperties"]
    BaseName: str | None = parameter(
        None,
        "At Kafka: the value of {hvr_tbl_base_name}. At the source: the table's name in the records, "
        "without its schema.",
        example="ORDERS",
    )
    Absent: bool = parameter(False, "The table is not sent; its changes are counted.", example="true")
    Schema: str | None = parameter(
        None,
        "At Kafka: the value of {hvr_schema}; by default the schema of the table's definition. At the"
        " source: the table's schema in the records.",
        example="SALES",
    )
    Partitions: str | None = parameter(
        None,
        "Which tables of the records are partitions of this one, beside those of its definition: a|b,"
        " with * for any text; SCHEMA.NAME, or NAME in any schema.",
        example='"orders_2*"',
        differs="extension",
    )
    TrimWhiteSpace: bool = parameter(
        False, "Blanks at the end of varchar and char of a length are cut off.", example="true"
    )
    TrimTime: Annotated[Literal["YES", "NO", "MIDNIGHT"], BeforeValidator(_as_word)] = parameter(
        "NO",
        "YES: timestamps without zone lose their time. MIDNIGHT: written as text, they lose it if it is 00:00:00.",
        example="MIDNIGHT",
    )
    CharacterMapping: str | None = parameter(
        None,
        r"Characters of text and what stands for them, all at once: a>b;c>d, with \n \r \t \\ \xNN \uNNNN.",
        example=r'"\\x00>;\\u20ac>EUR"',
    )
    MapBinary: Literal["COPY", "HEX", "BASE64"] | None = parameter(
        None,
        "How bytes are written in JSON and CSV: BASE64 by default in JSON, COPY (as they are) in CSV.",
        example="HEX",
    )
    MissingRepresentationString: str | None = parameter(
        None,
        "What is sent for a missing text; null stays null. Each of the three is for its own kind of values.",
        example='"?"',
    )
    MissingRepresentationNumeric: str | None = parameter(
        None,
        "What is sent for a missing number.",
        example='"-1"',
    )
    MissingRepresentationDate: str | None = parameter(
        None,
        "What is sent for a missing date or timestamp.",
        example='"1970-01-01"',
    )
    DistributionKeyLimit: Annotated[int, Field(ge=0)] = parameter(
        1, "How many columns of the key are hashed for Kafka, where none is flagged; 0 is all.", example="0"
    )
    DistributionKeyAvoidPattern: str | None = parameter(
        None, "Columns that are not hashed while there are others: a|b, with * for any text.", example='"tenant*"'
    )
    CoerceErrorPolicy: Literal["FATAL", "SILENT", "WARNING", "WARNING_FILE"] = parameter(
        "FATAL",
        "What becomes of a value that does not fit its type in the messages, numbers too. FATAL: the "
        "cycle fails. SILENT: it is coerced. WARNING: that is counted in the log. WARNING_FILE: it is"
        " also written to coerced.jsonl beside the channel's state, with the key, up to 1,000 of a "
        "change file.",
        example="WARNING",
    )
    CoerceErrorType: str | None = parameter(
        None,
        "For which misfits the policy is, with commas between; by default all. NUMERIC_RANGE, "
        "DATE_RANGE: the nearest possible value. STRING_TRUNCATION: cut off. ROUNDING: toward zero. "
        "ENCODING: a question mark. NULLS: 0 or empty text. OTHER: null, or 0 or empty text.",
        example='"STRING_TRUNCATION,NUMERIC_RANGE"',
    )
