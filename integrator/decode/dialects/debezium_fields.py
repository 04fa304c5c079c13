"""What an event's schema says of its columns (https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/data/)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

BITS = "io.debezium.data.Bits"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"


@dataclass(frozen=True)
class Field:
    """What an event's schema says of a column: Connect's type, the logical type's name, and a decimal's scale."""

    kind: str = ""
    name: str = ""
    scale: int | None = None
    length: int | None = None
    item: Field | None = None

    @staticmethod
    def of(field: dict[str, Any]) -> Field:
        """Read a field of a schema (https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonSchema.html)."""
        parameters, items = field.get("parameters") or {}, field.get("items")
        return Field(
            kind=str(field.get("type", "")),
            name=str(field.get("name") or ""),
            scale=_whole(parameters.get("scale")),
            length=_whole(parameters.get("length")),
            item=Field.of(items) if items else None,
        )


def _whole(text: object) -> int | None:
    """Return a number as schemas write it, in digits. Raises ValueError for what is none."""
    if text is not None and not re.fullmatch("-?[0-9]{1,9}", str(text)):
        raise ValueError(f"{text!r} is no whole number")
    return None if text is None else int(str(text))


NO_FIELD = Field()
"""What is known of a column without a schema."""
NAME_IT = "name the database (source.connector in add.fields, or sql_dialect beside the file in `tables`)"
"""What to do where neither the event nor the definition names the database."""
