"""Schemas in a registry: schemas -> ids, once, on the driver.

registering  registers schemas and resolves their ids
compatible   why a new schema cannot be read by consumers of the one before
refused      what the registry refuses, with the choices

The client's library takes 0.6 s to load: only a channel that has a registry loads it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from integrator.plan import Plan

CLIENTS: dict[str, str] = {"confluent": "integrator.registration.registering"}
"""What registers schemas: modules with the functions below, which are imported at first use."""


def resolve(plan: Plan) -> Plan:
    """Return the plan with the ids of its schemas, which are registered where they are not there yet.

    Raises ConfigurationError for what the registry refuses, EnvironmentFault where it does not answer.
    """
    if plan.registry is None:
        return plan
    found: Plan = _registering().resolve(plan, plan.registry)
    return found


def check(plan: Plan) -> list[str]:
    """Return of each schema whether the registry has it, or would take it; registers nothing.

    Raises as `resolve`, with what is wrong with all of them.
    """
    if plan.registry is None:
        return []
    found: list[str] = _registering().check(plan, plan.registry)
    return found


def _registering() -> Any:
    return import_module(CLIENTS["confluent"])
