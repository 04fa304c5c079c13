"""Capture (https://fivetran.com/docs/hvr6/action-reference/capture)."""

from __future__ import annotations

from typing import ClassVar, Literal

from integrator.channel.base import Scoped, parameter

_IGNORED = (
    "Evaluated here, so it sees the row alone: no subqueries. An update is ignored, with both of its images, where the "
    "condition is true of its after image, in which a missing value is the before image's; HVR does not document which "
    "of them counts. A change for which the condition is unknown, because a value is null or missing, is sent. In a "
    "refresh IgnoreCondition holds, too, as CaptureCondition does."
)


class Capture(Scoped):
    """What is captured."""

    EXAMPLE: ClassVar[str] = """\
- {action: Capture, table: audit, NoTruncate: true}
- {action: Capture, group: SOURCE, AugmentIncomplete: LOB}
- {action: Capture, table: products, Coalesce: true}
"""

    action: Literal["Capture"]
    NoBeforeUpdate: bool = parameter(
        False, "Before images of non-key updates are not sent.", example="true", differs="It may hold for a table."
    )
    NoTruncate: bool = parameter(
        False, "Truncates are not sent; then NOT NULL columns stay so in each schema.", example="true"
    )
    AugmentIncomplete: Literal["NONE", "LOB", "ALL"] = parameter(
        "NONE",
        "A value missing in an after image is taken from its before image. LOB: in tables that have a column of "
        "bytes or of text without length. ALL: in all tables.",
        example="ALL",
        differs="HVR reads the value from the database. Here only the record is available: a value that both images "
        "lack stays missing. The wal2json dialect always takes missing values from before images.",
    )
    Coalesce: bool = parameter(
        False,
        "Changes of a key in one transaction become one: insert and update an insert, updates one update, insert and "
        "delete nothing. A change of the key ends one row's changes and begins the other's.",
        example="true",
        differs="Only within a transaction, and within 16 MiB of a change file; HVR does not document its limit.",
    )
    IgnoreCondition: str | None = parameter(
        None,
        "A condition in SQL over the row, with {column}, {hvr_cap_user}, {hvr_var_NAME} in it: changes for which it is "
        "true are not sent. Unlike CaptureCondition of Restrict it converts no update. A truncate is never ignored.",
        example="\"{status} = 'draft'\"",
        differs=_IGNORED,
    )
    IgnoreUpdateCondition: str | None = parameter(
        None,
        "As IgnoreCondition, for updates alone, whether they change the key or not.",
        example="\"{hvr_cap_user} = 'batch'\"",
        differs=_IGNORED,
    )
