"""Events that messages have as they came: the columns in which change rows carry them, beside those that are read."""

from __future__ import annotations

from integrator.schema import Column, Integer, String

EVENT = Column("\0event", String(None, "json"))
"""The JSON text of a record's event. No other name begins with a zero character and is so."""
EVENT_TIME = Column("\0event time", Integer(64))
"""The time at which the record was emitted, as it has it, in milliseconds since 1970-01-01."""
EVENT_COLUMNS = (EVENT, EVENT_TIME)
