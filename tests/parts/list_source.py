"""A source that the integrator does not have: rows in a list. All of it is here, and nothing else knows it.

`python -m tests.parts.list_source …` is the integrator's command line with it; DIE_IN_CYCLE=N kills the process when
cycle N is acknowledged, and before it is marked.
"""

import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import pyarrow as pa
from pydantic import Field

from integrator.channel import locations, model
from integrator.channel.mistakes import shape
from integrator.channel.sources import SourceLocation
from integrator.decode.contract import File
from integrator.decode.lines.reading import LineReading, read_lines
from integrator.sources.by_class import SOURCES
from integrator.sources.contract import Feed, FixedSchemas
from integrator.sources.slices import Slice

AT_ONCE = 2
"""Rows of a slice."""


class ListLocation(SourceLocation):
    """Rows that are written in the channel."""

    class_: Literal["list"] = Field(alias="class")
    rows: list[str]


@dataclass(frozen=True)
class ListSlice(File):
    text: bytes = b""
    container = "json"

    def lines(self, reading, repeated=None, keys=""):
        yield from read_lines(self.path, LineReading(tolerant=reading.tolerant), pa.py_buffer(self.text))

    def start(self, least):
        return self.text[:least]

    def raw_lines(self, numbers):
        return (self.text.split(b"\n")[number - 1] for number in numbers.tolist())


@dataclass(frozen=True)
class ListReader:
    rows: list[str]

    def begin(self, slices):
        """A list is there."""

    def file(self, one):
        start = int(one.path.removeprefix("list:"))
        return ListSlice(
            one.path, one.ordinal, text="".join(f"{row}\n" for row in self.rows[start:][:AT_ONCE]).encode()
        )

    def check_unchanged(self, one):
        """A list does not change."""

    def join(self, slices, *, records):
        return None


@dataclass(frozen=True)
class ListListing:
    rows: list[str]
    number_of = None

    def slices(self, ends=None, limit=None):
        starts = range(0, len(self.rows), AT_ONCE)
        return [Slice(f"list:{start}", sum(map(len, self.rows[start:][:AT_ONCE]))) for start in starts]

    def until(self):
        return None

    def modified(self):
        return None

    def stream_of(self, path):
        return ""

    def together(self, paths):
        return len(paths)


@dataclass(frozen=True)
class Lists(FixedSchemas):
    location: ListLocation
    whole_transactions = True
    example = "{class: list, rows: []}"

    @property
    def reader(self):
        return ListReader(self.location.rows)

    def describe(self):
        return f"a list of {len(self.location.rows)} rows"

    def check(self, tables, report):
        if not self.location.rows:
            report("rows", "is empty; write a row")

    def notes(self):
        return iter(())

    def inspect(self, directory, *, is_free):
        for at, row in enumerate(self.location.rows):
            try:
                json.loads(row)
            except ValueError:
                yield "rows", f"row {at + 1} is no JSON"

    def reach(self, directory):
        return iter(())

    def place(self, state):
        return "list:"

    def listing(self, place, delay_s=0):
        return ListListing(self.location.rows)

    def prepare(self, place):
        """Nothing is to be there."""

    def open(self, opening):
        return Feed()


def add():
    """Add the source to the shelf, and its location to the channel's model."""
    SOURCES[ListLocation] = Lists
    shape.LOCATIONS["list"] = ListLocation
    kinds = get_args(locations.Location)[0] | ListLocation
    of_channel = model.Channel.model_fields["locations"]
    of_channel.annotation = dict[model.LocationName, Annotated[kinds, Field(discriminator="class_")]]
    model.Channel.model_rebuild(force=True)


def _die_in(cycle):
    from integrator.run import cycle as cycles

    check = cycles.check_acknowledged

    def dies(number, *rest):
        done = check(number, *rest)
        if number == cycle:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    cycles.check_acknowledged = dies


if __name__ == "__main__":
    from integrator.cli.main import main

    add()
    if "DIE_IN_CYCLE" in os.environ:
        _die_in(int(os.environ["DIE_IN_CYCLE"]))
    sys.exit(main())
