"""Capture (https://fivetran.com/docs/hvr6/action-reference/capture)."""

from __future__ import annotations

from typing import ClassVar, Literal

from integrator.channel.base import Scoped, parameter


class Capture(Scoped):
    """What is captured."""

    EXAMPLE: ClassVar[str] = """\
- {action: Capture, table: audit, NoTruncate: true}
- {action: Capture, group: SOURCE, AugmentIncomplete: LOB}
- {action: Capture, table: products, Coalesce: true}
"""

    action: Literal["Capture"]
    NoBeforeUpdate: bool = parameter(
        False,
        "Before images of non-key updates are not sent.",
        example="true",
    )
    NoTruncate: bool = parameter(
        False, "Truncates are not sent; then NOT NULL columns stay so in each schema.", example="true"
    )
    AugmentIncomplete: Literal["NONE", "LOB", "ALL"] = parameter(
        "NONE",
        "A value missing in an after image is taken from its before image. LOB: in tables that have a"
        " column of bytes or of text without length. ALL: in all tables. The wal2json dialect always "
        "does it.",
        example="ALL",
    )
    Coalesce: bool = parameter(
        False,
        "Changes of a key in one transaction, within 16 MiB of a change file, become one: insert and "
        "update an insert, updates one update, insert and delete nothing. A change of the key ends "
        "one row's changes and begins the other's.",
        example="true",
    )
    IgnoreCondition: str | None = parameter(
        None,
        "As Restrict CaptureCondition, but changes for which it is true are not sent, and no update "
        "is converted. Of an update the after image counts, completed from the before image. A change"
        " for which it is unknown is sent. Truncates are sent. It holds in a refresh, too.",
        example="\"{status} = 'draft'\"",
    )
    IgnoreUpdateCondition: str | None = parameter(
        None,
        "As IgnoreCondition, for updates alone.",
        example="\"{hvr_cap_user} = 'batch'\"",
    )
