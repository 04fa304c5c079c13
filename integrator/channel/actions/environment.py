"""Environment (https://fivetran.com/docs/hvr6/action-reference/environment)."""

from __future__ import annotations

from typing import ClassVar, Literal

from integrator.channel.base import Scoped, parameter

PROPERTIES = "HVR_KAFKA_PROPERTY"
"""The variable that has properties of librdkafka."""


class Environment(Scoped):
    """A variable of the integrate job."""

    EXAMPLE: ClassVar[str] = """\
- {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "5000000"}
- {action: Environment, Name: HVR_KAFKA_MSG_DELIVERY_TIMEOUT, Value: "60"}
- {action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: "1000"}
- {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "linger.ms=50;batch.size=500000"}
"""

    action: Literal["Environment"]
    Name: Literal[
        "HVR_KAFKA_MSG_MAX_BYTES", "HVR_KAFKA_MSG_DELIVERY_TIMEOUT", "HVR_KAFKA_PROPERTY", "HVR_KAFKA_RATE_LIMIT"
    ] = parameter(
        ...,
        "HVR_KAFKA_MSG_MAX_BYTES: the largest message in bytes, keys, headers and overhead counted; "
        "1,000,000 by default, 4,096 at least. HVR_KAFKA_MSG_DELIVERY_TIMEOUT: seconds until a "
        "message counts as failed; 300. HVR_KAFKA_PROPERTY: librdkafka's k=v;k=v; those of a source "
        "of topics, where `group` names it. HVR_KAFKA_RATE_LIMIT: messages a second, from 1, of all "
        "tasks together.",
        example="HVR_KAFKA_RATE_LIMIT",
    )
    Value: str = parameter(..., "Its value, as text.", example='"1000"')
