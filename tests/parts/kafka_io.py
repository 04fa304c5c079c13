"""Topics read back, by a plain consumer and by Kafka's own converter."""

from __future__ import annotations

from integrator.deliver.kafka.read_back import Received as Read
from integrator.deliver.kafka.read_back import read_back as read_all
from tests.parts.java import converter_reads

__all__ = ["Read", "converter_reads", "read_all"]
