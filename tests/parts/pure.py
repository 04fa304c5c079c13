"""The first pass and the framing without Spark or Kafka: change files -> messages, in the order to send."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from integrator.channel.load import RunOptions
from integrator.contracts.fragments import FILE_SUMMARY, Checkpoint, FileSummary
from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Recipe
from integrator.deliver.bundle import Bundler
from integrator.errors import ConfigurationError, DataError, IntegratorError, from_wire
from integrator.plan import build
from integrator.run.passes.first_pass import first_pass
from integrator.sources.contract import SliceReader
from integrator.sources.files.reader import FileReader, slice_of
from integrator.sources.slices import rows_of
from integrator.sources.spool import segments

LONGEST_ERROR = 2000  # characters
FILES = FileReader()
NOW = datetime.datetime(2026, 11, 20, 12, 0, tzinfo=datetime.timezone.utc)


def recipe(
    directory: Path,
    ddl: str,
    actions: str = "",
    dialect: str = "hvr",
    kafka: str = "",
    source: str = "",
    run: RunOptions | None = None,
    groups: str = "{}",
) -> Recipe:
    """The recipe of a channel over the tables of `ddl`."""
    return of_definitions(directory, ddl, "tables.sql", actions, dialect, kafka, source, run, groups)


def of_tables(directory: Path, definitions: str, name: str, dialect: str) -> Recipe:
    """The recipe of a channel in plain JSON over the tables that a file of this name defines."""
    return of_definitions(directory, definitions, name, f"  - {PLAIN}\n", dialect)


def of_definitions(
    directory: Path,
    definitions: str,
    name: str,
    actions: str = "",
    dialect: str = "hvr",
    kafka: str = "",
    source: str = "",
    run: RunOptions | None = None,
    groups: str = "{}",
) -> Recipe:
    """The recipe of a channel over the tables that a file of this name defines."""
    (directory / name).write_text(definitions)
    channel = directory / "channel.yaml"
    channel.write_text(
        f"""
channel: pure
locations:
  src: {{class: files, path: {directory}/in, dialect: {dialect}{source}}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]{kafka}}}
tables: [{directory}/{name}]
table_groups: {groups}
actions:
  - {{action: Integrate, CycleByteLimit: 0}}
{actions}
"""
    )
    return build(str(channel), "Europe/Berlin", run).recipe


PLAIN = "{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}"


def rows(
    directory: Path,
    ddl: str,
    actions: list[str],
    *records: dict[str, Any],
    kafka: str = "",
    run: RunOptions | None = None,
) -> list[dict[str, Any]]:
    """What records of the hvr dialect become, in plain JSON, in order, topic by topic."""
    return read(tables(directory, ddl, actions, kafka=kafka, run=run), hvr(directory, *records))


def tables(
    directory: Path, ddl: str, actions: list[str], *, kafka: str = "", run: RunOptions | None = None, groups: str = "{}"
) -> Recipe:
    """A recipe with these actions, and plain JSON."""
    text = "".join(f"  - {action}\n" for action in (PLAIN, *actions))
    return recipe(directory, ddl, text, kafka=kafka, run=run, groups=groups)


def refusal(directory: Path, ddl: str, *actions: str, groups: str = "{}") -> str:
    """What is said of a channel with these actions, which cannot be."""
    with pytest.raises(ConfigurationError) as raised:
        tables(directory, ddl, list(actions), groups=groups)
    assert f"{directory}/channel.yaml:" in str(raised.value)
    return str(raised.value)


def read(made: Recipe, *files: Path) -> list[dict[str, Any]]:
    """The messages of files, one row each, in plain JSON."""
    return [json.loads(message.value or b"null") for message in messages(made, *files)]


def check_lines(made: Recipe, path: Path, lines: list[str], expected: str | list[dict[str, Any]]) -> None:
    """Write the lines to a file, and check its messages, or that the file is refused with the expected error."""
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    if isinstance(expected, str):
        with pytest.raises(DataError) as raised:
            read(made, path)
        text = str(raised.value)
        assert text.startswith(str(path))
        assert expected in text
        assert len(text) < LONGEST_ERROR
    else:
        assert read(made, path) == expected


def fragments(
    made: Recipe,
    *files: Path,
    checkpoint: Checkpoint | None = None,
    of_others: int = 0,
    joined: bool = False,
    groups: Sequence[int] = (),
    reader: SliceReader = FILES,
) -> tuple[pa.Table, list[FileSummary]]:
    """The fragments of files read in one task, and the notes. Raises IntegratorError as the driver would.

    of_others: how many of the files, from the first on, other tasks read. joined: the others may be read as one.
    groups: of each file the first of those with which it may be read as one.
    """
    given = groups or [of_others + 1 if joined else None] * len(files)
    before = checkpoint.ordinal if checkpoint else 0
    runs = [
        slice_of(path, before + number, segments("").stream_of(str(path)), read=number > of_others, group=group)
        for number, (path, group) in enumerate(zip(files, given, strict=True), 1)
    ]
    try:
        batches = list(first_pass(made, checkpoint or Checkpoint(), NOW, reader)(iter([rows_of(runs)])))
    except RuntimeError as error:
        raise from_wire(str(error)) or error from None
    table = pa.Table.from_batches(batches)
    rows = table.to_pylist()
    notes = [FileSummary.of_json(row["payload"]) for row in rows if row["op"] == FILE_SUMMARY]
    return table.filter(pa.array([row["op"] >= 0 for row in rows])), notes


def check_cuts(made: Recipe, whole: Path, step: int) -> None:
    """Check that rows have the same positions (a column `seq` says them), wherever a file of lines is cut in two."""
    lines = whole.read_text().splitlines(keepends=True)
    expected = sorted(row["seq"] for row in read(made, whole))
    parts = [whole.with_name(name) for name in ("1", "2")]
    for cut in range(1, len(lines), step):
        for part, of_part in zip(parts, (lines[:cut], lines[cut:]), strict=True):
            part.write_text("".join(of_part))
        sent, _ = fragments(made, *parts)
        assert sorted(sent["integ_seq"].to_pylist()) == expected


def bundled(made: Recipe, sent: pa.Table, bundler: Bundler | None = None) -> list[Messages]:
    """The messages of fragments, which come in the batches that the table has; to the end, if there is no bundler."""
    taken = bundler or Bundler(made)
    found = [messages for batch in sent.to_batches() for messages in taken.add(batch)]
    return found + ([] if bundler else list(taken.end()))


def messages(made: Recipe, *files: Path) -> list[Message]:
    """All messages: topic by topic, in order."""
    return unpacked(bundled(made, fragments(made, *files)[0].combine_chunks()))


def unpacked(found: list[Messages]) -> list[Message]:
    result = []
    for part in found:
        headers = part.headers.to_lists() if part.headers else [()] * len(part.values)
        topics = [topic for topic, count in part.topic_counts for _ in range(count)]
        rows = zip(topics, part.keys.to_pylist(), part.values.to_pylist(), headers, strict=True)
        result += [Message(topic, key, value, dict(named)) for topic, key, value, named in rows]
    return result


@dataclass(frozen=True)
class Message:
    """A message as it would be sent."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]


def payloads(made: Recipe, *files: Path) -> list[dict[str, Any]]:
    """The payloads of all messages, in order."""
    sent, _ = fragments(made, *files)
    rows = (message for batch in sent.to_batches() for at in range(len(batch)) for message in _alone(made, batch, at))
    return [json.loads(message.value or b"")["payload"] for message in rows]


def _alone(made: Recipe, batch: pa.RecordBatch, at: int) -> list[Message]:
    return unpacked(bundled(made, pa.Table.from_batches([batch.slice(at, 1)])))


def hvr(directory: Path, *records: dict[str, Any], name: str = "a.jsonl") -> Path:
    """Records of the hvr dialect as a file of JSON lines; hvr_op and hvr_tx_seq are filled in where absent."""
    path = directory / name
    filled = ({"hvr_op": 1, "hvr_tx_seq": "1", **record} for record in records)
    path.write_text("".join(json.dumps(record) + "\n" for record in filled))
    return path


__all__ = [
    "NOW",
    "IntegratorError",
    "bundled",
    "check_cuts",
    "check_lines",
    "fragments",
    "hvr",
    "messages",
    "payloads",
    "read",
    "recipe",
    "refusal",
    "rows",
    "tables",
    "unpacked",
]
