"""ColumnProperties (https://fivetran.com/docs/hvr6/action-reference/columnproperties)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from integrator.channel.base import Counted, InContext, parameter

Size = Annotated[int, Field(ge=0)] | str


class ColumnProperties(InContext):
    """Properties of the columns that have a name, or a datatype that matches."""

    EXAMPLE: ClassVar[str] = """\
# every change, with its operation and position
- {action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}
- {action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
   IntegrateExpression: "{hvr_integ_seq}"}
# left out, and masked
- {action: ColumnProperties, table: customers, Name: address, Absent: true}
- {action: ColumnProperties, table: customers, Name: email, CaptureExpression: "sql: encode(sha256(email), 'hex')"}
# long texts are cut
- {action: ColumnProperties, group: SOURCE, DatatypeMatch: text, TrimDatatype: 100000}
"""

    action: Literal["ColumnProperties"]
    Name: str | None = parameter(None, "The column's name in the channel.", example="price")
    DatatypeMatch: str | None = parameter(
        None,
        "Instead of Name: all columns of a datatype, with conditions on prec, scale, bytelen (four "
        "bytes a character of text), charlen, encoding and null. Name wins over it.",
        example="\"varchar[bytelen>200 && null='true']\"",
    )
    BaseName: str | None = parameter(
        None,
        "At Kafka: the column's name in the messages. At the source: its name in the records.",
        example="CUST_ID",
    )
    Extra: bool = parameter(
        False, "A column that only the messages have; it needs Datatype or SoftDelete.", example="true"
    )
    Absent: bool = parameter(
        False,
        "At Kafka: the column is not in the messages. At the source: the records lack it; "
        "CaptureExpression makes it, or it is null.",
        example="true",
    )
    CaptureExpression: str | None = parameter(
        None,
        "The column's value for all later steps: a template over the record, or SQL (sql: …). It is "
        "missing if a column that it uses is missing.",
        example='"sql: lower(email)"',
    )
    CaptureExpressionType: Literal["INLINE"] | None = parameter(
        None,
        "How CaptureExpression is evaluated: by the integrator. HVR's other types ask the source database.",
        example="INLINE",
    )
    IntegrateExpression: str | None = parameter(
        None,
        "The value in the messages: a template over substitutions, or SQL (an extension). Keys, "
        "headers and other expressions still see what was captured.",
        example='"{hvr_op}"',
    )
    ExpressionScope: str | None = parameter(
        None,
        "With Expression_Scopes: APPLY at the Kafka location: the operations for whose rows "
        "IntegrateExpression is evaluated, with commas between: DELETE, INSERT, UPDATE_AFTER, "
        "UPDATE_BEFORE_KEY, UPDATE_BEFORE_NONKEY, TRUNCATE. Others have the column's own value, or "
        "none.",
        example='"INSERT,UPDATE_AFTER"',
    )
    TrimDatatype: Annotated[int, Field(ge=1), Counted("bytes")] | None = parameter(
        None,
        "Text and bytes are cut to this many bytes, never inside a character, and counted in the log.",
        example="100000",
    )
    Key: bool = parameter(False, "The column belongs to the replication key.", example="true")
    SurrogateKey: bool = parameter(
        False, "The column is the replication key, instead of the table's own.", example="true"
    )
    DistributionKey: bool = parameter(False, "The column belongs to the key that is hashed for Kafka.", example="true")
    SoftDelete: bool = parameter(
        False, "An Extra column: 1 where the row was deleted in the source, else 0. Deletes are sent.", example="true"
    )
    TimeKey: bool = parameter(
        False, "Every change is sent as a row of its own, before images and truncates too.", example="true"
    )
    IgnoreDuringCompare: bool = parameter(
        False,
        "`compare` leaves the column out.",
        example="true",
    )
    Datatype: str | None = parameter(None, "Its datatype in the messages.", example="varchar")
    Length: Size | None = parameter(
        None, "Characters of a varchar; may be computed from bytelen and charlen.", example='"bytelen/3"'
    )
    Precision: Size | None = parameter(
        None, "Digits of a number or of a second; may be computed from prec.", example='"prec+5"'
    )
    Scale: Size | None = parameter(None, "Digits after the point; may be computed from scale.", example='"scale*2"')
    Nullable: bool | None = parameter(None, "Whether null is allowed; by default as in the table.", example="false")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.Name is None) == (self.DatatypeMatch is None):
            raise ValueError("needs Name or DatatypeMatch, one of them")
        if self.DatatypeMatch is not None and self.Extra:
            raise ValueError("an Extra column has a Name; DatatypeMatch is for columns of the table")
        return self
