"""Letters of topics: rejected records in the files of a replay, read as the records of the topics that they were.

The first line of a file has the topic, the partition and the file's number; each line after it has a record, and the
offset that it had.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from integrator.decode.contract import File
from integrator.decode.encodings.encoded import Encoding
from integrator.errors import ConfigurationError
from integrator.librdkafka.blocks import Block
from integrator.librdkafka.fetching import Range
from integrator.sources.files.reader import FileReader
from integrator.sources.kafka.block_lines import TopicEncoding
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.slice_file import SliceFile
from integrator.sources.slices import TaskSlice

_FILE = re.compile(r"(.+)/(\d+)(?: \(replay \d+\))?")
"""How a letter names the partition of its record; one that an earlier replay rejected again has that beside it."""
_DELETED = re.compile(rb'\s*\{\s*"schema"\s*:\s*(.+?)\s*,\s*"deleted key"\s*:\s*(.+)\}\s*', re.DOTALL)
"""The letter of a record without a value, see `line_with_key`."""
_KEYS = Encoding(framed=False)
"""Keys of letters are JSON, whatever they were in the topic."""


@dataclass(frozen=True)
class TopicLetters(FileReader):
    """Writes and reads the files. encoding: that of the topics; its registry is asked for nothing."""

    encoding: TopicEncoding

    @staticmethod
    def of(encoding: TopicEncoding) -> TopicLetters:
        """Return what reads letters of topics with this encoding."""
        return TopicLetters(replace(encoding, values=replace(encoding.values, asks=False), keys=_KEYS, topics=None))

    def written(self, number: int, file: str, letters: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the content of a file: offsets, which ascend, and letters. file: in which they stood.

        Each letter is one record, whatever lines it has. Raises ConfigurationError for what was in no topic.
        """
        found = _FILE.fullmatch(file)
        if found is None:
            raise ConfigurationError(f"{file or 'a letter'}: is no TOPIC/PARTITION, and the source reads topics alone")
        lines: list[object] = [{"topic": found[1], "partition": int(found[2]), "number": number}]
        for offset, record in letters:
            lines.append({"offset": offset, "record": b64encode(record).decode()})
        return "".join(f"{json.dumps(one)}\n" for one in lines).encode()

    def file(self, one: TaskSlice) -> File:
        """Return a file as the range of a partition, all of whose records are read already."""
        about, *lines = map(json.loads, Path(one.path).read_bytes().splitlines())
        topic, partition = about["topic"], about["partition"]
        records = [(line["offset"], *_value_and_key(b64decode(line["record"]))) for line in lines]
        stood = Range(topic, partition, records[0][0], records[-1][0] + 1)
        return _Letters(
            f"{topic}/{partition} (replay {about['number']})",
            one.ordinal,
            stream=Stream(topic, "", partition),
            range=stood,
            encoding=self.encoding,
            records=(Block.of(records),),
        )

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:  # noqa: ARG002 - of the contract
        """Return None: files are read one by one."""
        return None


@dataclass(frozen=True)
class _Letters(SliceFile):
    """Letters of a partition."""

    def _before(self) -> Block | None:
        """Return None: the record before a letter is no letter."""
        return None


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _value_and_key(letter: bytes) -> tuple[bytes | None, bytes | None]:
    """Return the value and the key of the record that a letter was."""
    found = _DELETED.fullmatch(letter)
    if found is None or not _is_json(letter):
        return letter, None
    schema, key = found[1], found[2]
    return None, key if schema == b"null" else b'{"schema":%b,"payload":%b}' % (schema, key)
