"""`check`: brokers, registry and a test topic tried, as a sync will use them."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integrator import registration
from integrator.airbyte.configuration import configured
from integrator.channel.secret import Secrets
from integrator.deliver.kafka import probe, topics
from integrator.names.identifiers import standard_identifier
from integrator.tables import airbyte_catalog

_STREAM = "test-topic-stream"
_CATALOG = json.dumps({"streams": [{"name": _STREAM, "json_schema": {"properties": {"test-key": {"type": "string"}}}}]})


def check(options: Mapping[str, Any], secrets: Secrets) -> str:
    """Try what a sync needs; return what of the options has no effect. Raises IntegratorError for what fails.

    The brokers are asked always, the registry where the format has one; a message is sent where there is a test topic.
    """
    tables, _ = airbyte_catalog.read("", _CATALOG)
    with tempfile.TemporaryDirectory(prefix="integrator-airbyte-") as directory:
        made = configured(options, _CATALOG, tables, Path(directory), secrets)
        plan, producer = made.plan, made.plan.recipe.send.producer
        topics.connected(producer)
        registration.check(plan)
        if options.get("test_topic"):
            topic = standard_identifier(str(options["test_topic"]))
            topics.ensure(producer, [topic], plan.create_topics)
            key, value = _message()
            probe.send(producer, topic, key, value)
    return made.remarks


def _message() -> tuple[bytes, bytes]:
    """Return the key and the value of the message to a test topic, as destination-kafka writes it."""
    own = str(uuid.uuid4())
    value = {
        "_airbyte_ab_id": own,
        "_airbyte_stream": _STREAM,
        "_airbyte_emitted_at": round(time.time() * 1000),
        "_airbyte_data": {"test-key": "test-value"},
    }
    return own.encode(), json.dumps(value, separators=(",", ":")).encode()
