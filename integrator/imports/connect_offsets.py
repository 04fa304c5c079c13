"""The offsets of a Debezium connector -> the position in the database's log that it has reached.

https://kafka.apache.org/documentation/#connect_rest (GET /connectors/NAME/offsets, from Kafka 3.5 on), or the records
of the topic of `offset.storage.topic`, as kafka-console-consumer prints them with their keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from integrator.errors import ConfigurationError

_JAVA = b"\xac\xed"
"""How serialised objects begin
(https://docs.oracle.com/en/java/javase/21/docs/specs/serialization/protocol.html)."""
_FORMS = (
    "give what the worker answers to GET /connectors/NAME/offsets, "
    '{"offsets": [{"partition": {"server": TOPIC.PREFIX}, "offset": {"lsn": 123, …}}]}, or records of its topic of '
    "offsets: kafka-console-consumer --topic connect-offsets --from-beginning --property print.key=true"
)
_AGAIN = "wait until it has ended, stop the connector, and take its offsets again"


def position(file: Path, prefix: str) -> str:
    """Return the position as `start_position` has it. prefix: the connector's topic.prefix.

    Up to there the connector has sent whole transactions, and it may have sent changes of the next one.
    Raises ConfigurationError for a file that is not of these forms, or has no position to continue at.
    """
    found = {json.dumps(partition): offset for partition, offset in _offsets(file) if _is_of(partition, prefix)}
    offsets = [one for one in found.values() if one is not None]
    if len(offsets) != 1:
        what = "offsets of several connectors" if offsets else "no offset"
        raise ConfigurationError(f"{file}: has {what} with topic.prefix {prefix}: {_FORMS}")
    [offset] = offsets
    if _is_in_snapshot(offset):
        raise ConfigurationError(f"{file}: the connector has not ended its snapshot: {_AGAIN}")
    if any(one is not None for name, one in offset.items() if name.startswith("incremental_snapshot_")):
        raise ConfigurationError(f"{file}: the connector has not ended an incremental snapshot: {_AGAIN}")
    name, place, lsn = offset.get("file"), offset.get("pos"), offset.get("lsn_commit") or offset.get("lsn")
    if isinstance(name, str) and isinstance(place, int):
        return f"{name}:{place}"
    if not isinstance(lsn, int):
        raise ConfigurationError(
            f"{file}: the offset is {json.dumps(offset)[:200]}; accepted are lsn, or lsn_commit, a number, and file, a "
            "text, with pos, a number: give it as the connector wrote it"
        )
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def _is_in_snapshot(offset: dict[str, Any]) -> bool:
    is_last = offset.get("snapshot_completed") is True or offset.get("last_snapshot_record") is True
    return offset.get("snapshot") not in (None, False, "false") and not is_last


def _is_of(partition: Any, prefix: str) -> bool:
    return isinstance(partition, dict) and partition.get("server") == prefix


def _offsets(file: Path) -> Iterator[tuple[Any, dict[str, Any] | None]]:
    """Yield partitions and their offsets, the latest last; None where one was removed. Raises ConfigurationError."""
    try:
        data = file.read_bytes()
        if data.startswith(_JAVA):
            raise ConfigurationError(
                f"{file}: is a standalone worker's file of offsets (offset.storage.file.filename), a serialised map of "
                "Java, which is not read: ask that worker, GET /connectors/NAME/offsets"
            )
        text = data.decode()
        if text.lstrip().startswith("{"):
            for one in json.loads(text)["offsets"]:
                yield one["partition"], _object(one["offset"])
            return
        for line in filter(str.strip, text.splitlines()):
            key, _, value = line.partition("\t")
            [_, partition] = json.loads(key)
            yield partition, _object(json.loads(value or "null"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise ConfigurationError(f"{file}: is none of the forms that offsets are read in: {_FORMS}") from None


def _object(offset: Any) -> dict[str, Any] | None:
    """Return an offset, or None for one that was removed. Raises TypeError where it is neither."""
    if offset is not None and not isinstance(offset, dict):
        raise TypeError
    return offset
