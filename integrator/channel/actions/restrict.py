"""Restrict (https://fivetran.com/docs/hvr6/action-reference/restrict)."""

from __future__ import annotations

from typing import ClassVar, Literal

from integrator.channel.base import InContext, parameter


class Restrict(InContext):
    """Which rows are sent."""

    EXAMPLE: ClassVar[str] = """\
- {action: Restrict, table: orders, CaptureCondition: "{qty} > 0"}
# two channels share a source: each gets the rows that are addressed to it
- {action: Restrict, table: customers, AddressTo: "{country}"}
- {action: Restrict, group: KAFKA, table: customers, AddressSubscribe: "DE,AT,CH"}
"""

    action: Literal["Restrict"]
    CaptureCondition: str | None = parameter(
        None,
        "A condition in SQL over the row alone, without subqueries, with {column}, {hvr_cap_user}, "
        "{hvr_var_NAME} in it: only rows for which it is true are sent. An update out of it becomes a"
        " delete, one into it an insert. Where an image lacks a column that it asks for, the update's"
        " other image decides; if that lacks it too, the row is sent. An update without a before "
        "image is sent as an update where it is true, else as a delete.",
        example="\"{region} = 'EU' and {amount} >= 10\"",
    )
    RefreshCondition: str | None = parameter(
        None,
        "A condition in the SQL of the database, or of Spark for files: only rows for which it is true are refreshed. "
        "{hvr_var_NAME} may stand in it.",
        example="\"region = 'EU' and created >= '2026-01-01'\"",
    )
    SliceCountCondition: str | None = parameter(
        None,
        "With --slice N: the condition of each slice, with {hvr_slice_num} (from 0) and {hvr_slice_total} in it.",
        example='"mod(id, {hvr_slice_total}) = {hvr_slice_num}"',
    )
    SliceSeriesCondition: str | None = parameter(
        None,
        "With --slice 'V1;V2;…': the condition of each slice, with {hvr_slice_value} in it.",
        example="\"region = '{hvr_slice_value}'\"",
    )
    AddressTo: str | None = parameter(
        None,
        "Where rows go: locations, location groups, aliases or patterns with commas between, or "
        "{column}. Rows that do not go to the Kafka location are counted.",
        example='"kaf,{region}"',
    )
    AddressSubscribe: str | None = parameter(
        None, "At the Kafka location: further addresses whose rows it gets.", example='"EU*,backup"'
    )
