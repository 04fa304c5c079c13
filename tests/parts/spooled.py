"""What a capture has written into a spool, and how it is interrupted."""

import json
from collections import Counter

from integrator.decode.encodings.pgoutput import records_of, relations_in
from integrator.decode.lines.reading import LineReading
from integrator.sources.capture.frames import ROWS, Segment
from integrator.sources.spool import sealed_in


class Crash(Exception):
    """Our process is gone."""


def fragile(method, chance, draw, crashing):
    """Return a method that raises Crash before or after it is done, by chance, while `crashing` says so."""

    def called(self, *values, **named):
        if crashing[0] and draw.random() < chance:
            raise Crash
        done = method(self, *values, **named)
        if crashing[0] and draw.random() < chance:
            raise Crash
        return done

    return called


def write_segment(spool, standing, relation, messages):
    """Seal a segment of messages of one relation; return where the stream stands after it."""
    segment = Segment(standing)
    segment.know(relation.message())
    for message in messages:
        standing = standing.after(message)
        if message[0] in ROWS:
            segment.add_change(message, relation.oid.to_bytes(4, "big"))
        else:
            segment.add(message)
    writer = spool.writer("slot")
    writer.write(b"".join(segment.pieces))
    writer.seal()
    return standing


def json_of(records):
    """What JSON of each record has."""
    return [json.loads(records.written(at)) for at in range(len(records))]


def _written(directory):
    for path in sealed_in(directory):
        data = path.read_bytes()
        for block in records_of(str(path), data, relations_in(data), LineReading()):
            yield from json_of(block)


def lines_in(directory):
    """Each line, with its transaction's position, and its number there."""
    transaction, number = None, 0
    for line in _written(directory):
        if line["action"] == "B":
            transaction, number = (line["lsn"], line["xid"]), 0
        elif line["action"] != "C":
            yield (*transaction, number), line
            number += 1


def transactions(directory):
    """Their positions and numbers, as often as they begin; each ends before the next one."""
    found, is_open = [], False
    for line in _written(directory):
        if line["action"] == "B":
            found += [] if is_open and found[-1:] == [(line["lsn"], line["xid"])] else [(line["lsn"], line["xid"])]
        if line["action"] in "BC":
            is_open = line["action"] == "B"
    assert not is_open
    return found


def rebuilt(lines):
    """The tables after lines, in their order."""
    made = Counter()
    tables = {}
    for _, line in lines:
        table = tables.setdefault(line.get("table"), {})
        if line["action"] == "T":
            table.clear()
        elif line["action"] == "D":
            table.pop(line["old"]["k"], None)
        elif line["action"] in "IU":
            if "old" in line:
                table.pop(line["old"]["k"], None)
            table[line["new"]["k"]] = {**table.get(line["new"]["k"], {}), **line["new"]}
        made[line["action"]] += 1
    return tables
