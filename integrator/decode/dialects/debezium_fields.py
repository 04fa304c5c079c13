"""What an event's schema says of its columns (https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/data/)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from integrator import schema
from integrator.contracts.connect_schema import type_of

BITS = "io.debezium.data.Bits"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"


@dataclass(frozen=True)
class Field:
    """What an event's schema says of a column: Connect's type, the logical type's name, and its parameters.

    zoned: whether a timestamp is an instant, which Connect's own schemas do not say. optional: whether it may be null.
    """

    kind: str = ""
    name: str = ""
    scale: int | None = None
    length: int | None = None
    item: Field | None = None
    precision: int | None = None
    zoned: bool = False
    optional: bool = field(default=False, compare=False)

    @staticmethod
    def of(given: dict[str, Any]) -> Field:
        """Read a field of a schema (https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonSchema.html)."""
        parameters, items = given.get("parameters") or {}, given.get("items")
        return Field(
            kind=str(given.get("type", "")),
            name=str(given.get("name") or ""),
            scale=_whole(parameters.get("scale")),
            length=_whole(parameters.get("length")),
            item=Field.of(items) if items else None,
            precision=_whole(parameters.get("connect.decimal.precision")),
            zoned=given.get("zoned") is True,
            optional=given.get("optional") is True,
        )

    @property
    def datatype(self) -> str:
        """The datatype of a column whose values have it; nothing where no column has."""
        found = type_of(self.connect)
        return "" if isinstance(found, schema.Struct) else schema.describe(found)

    @property
    def connect(self) -> dict[str, Any]:
        """The same as a schema of Connect's."""
        parameters = {"scale": self.scale, "length": self.length, "connect.decimal.precision": self.precision}
        return {
            "type": self.kind,
            "name": self.name,
            "zoned": self.zoned,
            "parameters": {name: one for name, one in parameters.items() if one is not None},
            "items": self.item.connect if self.item else None,
        }


def _whole(text: object) -> int | None:
    """Return a number as schemas write it, in digits. Raises ValueError for what is none."""
    if text is not None and not re.fullmatch("-?[0-9]{1,9}", str(text)):
        raise ValueError(f"{text!r} is no whole number")
    return None if text is None else int(str(text))


NO_FIELD = Field()
"""What is known of a column without a schema."""
NAME_IT = "name the database (source.connector in add.fields, or sql_dialect beside the file in `tables`)"
"""What to do where neither the event nor the definition names the database."""
