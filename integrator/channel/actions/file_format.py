"""FileFormat (https://fivetran.com/docs/hvr6/action-reference/fileformat)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from integrator.channel.base import Counted, Scoped, parameter

Character = Annotated[str, Field(min_length=1, max_length=1)]
Modes = Literal[
    "SCHEMA_PAYLOAD", "PAYLOAD", "ROW_FRAGMENTS", "ROW_ARRAY", "TABLE_OBJECT", "TABLE_OBJECT_BSON", "TABLE_ARRAY"
]


class FileFormat(Scoped):
    """The format of messages; one for a location."""

    EXAMPLE: ClassVar[str] = """\
- {action: FileFormat, Csv: true, HeaderLine: true, FieldSeparator: ";", NullRepresentation: "\\\\N"}
"""

    action: Literal["FileFormat"]
    Json: bool = parameter(False, "JSON, in a mode: the default.", example="true")
    JsonMode: Modes | None = parameter(
        None,
        "SCHEMA_PAYLOAD, the default, is Connect JSON, and PAYLOAD (an extension) that without its "
        "schema; the others are plain JSON, and TABLE_OBJECT_BSON is BSON (docs/formats.md).",
        example="ROW_FRAGMENTS",
    )
    Avro: bool = parameter(False, "An Avro container file for each message.", example="true")
    AvroVersion: Literal["v1_6", "v1_7", "v1_8"] = parameter("v1_8", "Before v1_8: basic types only.", example="v1_7")
    Parquet: bool = parameter(
        False,
        "A Parquet file for each message, of one row.",
        example="true",
    )
    ParquetVersion: Literal["v1", "v2", "v3"] = parameter(
        "v2", "v1: basic types; v2: decimals; v3: times.", example="v3"
    )
    PageSize: Annotated[int, Field(ge=1), Counted("bytes")] = parameter(
        1024 * 1024, "Bytes of a Parquet page.", example="65536"
    )
    BlockCompress: Literal["NONE", "DEFLATE", "GZIP", "LZ4"] | None = parameter(
        None, "Inside Avro: DEFLATE (default) or NONE; inside Parquet: GZIP (default), LZ4 or NONE.", example="NONE"
    )
    Csv: bool = parameter(False, "CSV.", example="true")
    HeaderLine: bool = parameter(False, "Each message begins with the columns' names.", example="true")
    FieldSeparator: Character = parameter(",", "Between fields.", example='"\\t"')
    LineSeparator: Annotated[str, Field(min_length=1)] = parameter("\n", "At the end of each line.", example='"\\r\\n"')
    QuoteCharacter: Character = parameter('"', "Around a field that needs it.", example='"\'"')
    EscapeCharacter: Character = parameter('"', "Before a quote.", example='"\\\\"')
    FileTerminator: str = parameter("", "At the end of each message.", example='"EOF"')
    NullRepresentation: str = parameter(
        "",
        "What null is written as, without quotes; by default nothing, and empty text is quoted.",
        example='"\\\\N"',
    )
    Text: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "A message is text: a template over its row, as IntegrateExpression has it. Where that is "
        "null, the message has no value.",
        example='"{order_id};{status}"',
        differs="extension",
    )
    Bytes: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "A message is the bytes of this column. Where that is null, the message has no value.",
        example="photo",
        differs="extension",
    )
    Xml: bool = parameter(False, "HVR's XML.", example="true")
    Compact: bool = parameter(False, "Short element names, r and c.", example="true")
    Compress: Literal["GZIP", "LZ4"] | None = parameter(None, "Compression of each message.", example="GZIP")
    Encoding: Literal[
        "UTF-8", "US-ASCII", "ISO-8859-1", "ISO-8859-9", "WINDOWS-1251", "WINDOWS-1252", "UTF-16LE", "UTF-16BE"
    ] = parameter("UTF-8", "The encoding of text.", example="UTF-16LE")
    ConvertNewlinesTo: Literal["UNIX", "DOS"] | None = parameter(None, "Line ends of text.", example="DOS")
    BeforeUpdateColumns: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "An update is one row of operation 2 with both images: the values before it are in columns with this prefix.",
        example='"old&"',
    )
    BeforeUpdateColumnsWhenChanged: bool = parameter(
        False, "Only changed columns have their value before the update: in JSON and XML.", example="true"
    )
    Envelope: Literal["DEBEZIUM", "OPENCDC", "AIRBYTE"] | None = parameter(
        None,
        "The envelope of another product, for consumers that expect it.",
        example="DEBEZIUM",
        differs="extension",
    )
