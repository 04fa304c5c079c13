"""Change data into Kafka, in packages named by the steps; imports go from top to bottom.

api           the Python interface: channels, and a sink for Spark's streams
cli           arguments, console, exit codes
airbyte       a destination of Airbyte
imports       other products' configurations -> channels
monitor       a process's status page, metrics and health over HTTP
backlog       what is not synced yet
catalogue     a database's catalogue -> table definitions
compare       tables with their topics, and topics with topics
refresh       whole tables: slices, ledger, progress
replay        dead letters through their channel again
run           daemon, job, cycle, state: everything that starts Spark
registration  schemas -> ids of the registry, before the first row
resolved      up to where all is in the topics: sent beside the cycles, and read by consumers
plan          channel and table definitions -> Plan and Recipe, or all problems at once
deliver       fragments -> bundles -> messages in Kafka
encode        change rows -> encoded rows and message values
sources       databases, files, sockets and topics -> slices, in order
transform     column properties and expressions: change rows -> columns to send
decode        source records -> change rows
formats       one file per message format
channel       the YAML file
librdkafka    librdkafka by its C interface
registry      the client of a schema registry
contracts     the shapes that cross packages
tables        table definitions: DDL, Avro schema, YAML
expressions   parser and substitutions
arrow         helpers over Arrow and numpy
schema        the type tree
durable       files that survive a power cut
names         what other products call what a channel has
extras        libraries that extras of the package install, imported at first use
errors        faults, by who must act
engine        compiled loops over arrays
prefetch      one step ahead of the next
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from integrator.api.channel import Channel, run
    from integrator.api.sink import Sink, sink

__all__ = ["Channel", "Sink", "run", "sink"]

_MODULES = {"Channel": "channel", "Sink": "sink", "run": "channel", "sink": "sink"}
"""Of each public name, where it is: nothing is imported before it is asked for."""


def __getattr__(name: str) -> Any:
    """Return a public name. Raises AttributeError for others."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"integrator.api.{_MODULES[name]}"), name)


class _Package(ModuleType):
    """The package: `integrator.run` is the function, also after an import of the package of that name."""

    @property
    def run(self) -> Any:
        return __getattr__("run")

    @run.setter
    def run(self, _package: ModuleType) -> None:
        """Leave it the function: the import of integrator.run would set the package here."""


sys.modules[__name__].__class__ = _Package
