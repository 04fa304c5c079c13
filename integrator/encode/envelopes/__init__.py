"""Envelopes beyond HVR: one file a peer; `contract` says what an envelope is."""

from integrator.encode.envelopes import airbyte, debezium, opencdc
from integrator.encode.envelopes.contract import Envelope

ENVELOPES: dict[str, Envelope] = {
    "DEBEZIUM": debezium.ENVELOPE,
    "OPENCDC": opencdc.ENVELOPE,
    "AIRBYTE": airbyte.ENVELOPE,
}
