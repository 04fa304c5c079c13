"""Envelopes beyond HVR: one file a peer; `contract` says what an envelope is.

In come the fields of a table and its change rows; out go the fields and columns of another product's messages.
A new envelope is a file with an `Envelope`, and a line in the dict.
"""

from integrator.encode.envelopes import airbyte, debezium, opencdc
from integrator.encode.envelopes.contract import Envelope

ENVELOPES: dict[str, Envelope] = {
    "DEBEZIUM": debezium.ENVELOPE,
    "OPENCDC": opencdc.ENVELOPE,
    "AIRBYTE": airbyte.ENVELOPE,
}
