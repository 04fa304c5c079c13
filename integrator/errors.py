"""The kinds of error, named by who must act, with the exit code of each.

An error says what happened, where (file, line, value), what is accepted, and by its kind who must act. Workers and
the driver are different processes, so an error crosses as text: `to_wire` and `from_wire`.
"""

from __future__ import annotations

import errno
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class Kind:
    """What follows from a kind of error: who acts, the process's exit code, and whether a retry may succeed."""

    name: str
    who: str
    exit_code: int
    retriable: bool

    @property
    def action(self) -> str:
        """What is to be done, as messages and the status say it."""
        retry = "retryable, no action needed unless it happens again; then "
        return f"{retry if self.retriable else ''}{self.who} must act"


CONFIGURATION = Kind("configuration", "the author of the channel", 2, retriable=False)
DATA = Kind("data", "the owner of the source data", 3, retriable=False)
DELIVERY = Kind("delivery", "the operator of Kafka", 4, retriable=True)
ENVIRONMENT = Kind("environment", "the operator", 5, retriable=False)
COLUMNS = Kind("columns", "the author of the channel", 3, retriable=False)
SCHEMAS = Kind("schemas", "the operator", 3, retriable=False)
TOPICS = Kind("topics", "the operator of Kafka", 3, retriable=False)

DEFECT = Kind("defect", "the maintainers of the integrator", 1, retriable=False)
PROCESS = Kind("process", "the operator", 5, retriable=True)
REGISTRY = Kind("environment", "the operator", 5, retriable=True)
SOURCE = Kind("source", "the operator of the source", 5, retriable=True)

_MARK = "INTEGRATOR-ERROR:"

_TRACED = 500  # characters of a line of a traceback
SHOWN = 200  # characters of a value in a message
_DATA = 4_000  # characters of the text of a DataError, which may list tables and columns
MASKED = (
    "its value is refused, and is not shown: the channel masks the column (errors.log.include.messages has it shown)"
)


def command() -> str:
    """Return how this program was called: what a message says to run."""
    return "run.py" if Path(sys.argv[0]).name == "run.py" else "integrator"


def shown(value: object) -> str:
    """Return a value as messages show it: text and bytes in quotes; after 200 characters, its length instead."""
    if isinstance(value, str | bytes):
        text, unit, length = repr(value[:SHOWN]), "characters" if isinstance(value, str) else "bytes", len(value)
        whole = length <= SHOWN
    else:
        text = repr(value) if value is None or isinstance(value, bool | list | tuple | dict) else str(value)
        unit, length, whole = "characters", len(text), True
    return text if whole and len(text) <= SHOWN else f"{text[:SHOWN]}… ({length:,} {unit})"


def shortened(text: str, most: int = SHOWN) -> str:
    """Return text as it is, such as another program's message; after so many characters, its length instead."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


class IntegratorError(Exception):
    """An error that a person can act on. `kind` says who."""

    kind: ClassVar[Kind]
    problems: tuple[Problem, ...] = ()
    has_values: ClassVar[bool] = False
    """Whether the text may have values of rows: it is for the log and the state directory alone then."""

    def to_wire(self) -> str:
        """Return one line of text from which `from_wire` makes the same error in another process."""
        return _on_wire([type(self).__name__, *self.args])


def _on_wire(parts: Sequence[object]) -> str:
    text = json.dumps(parts)
    return _MARK + text.replace(_MARK, f"\\u{ord(_MARK[0]):04x}{_MARK[1:]}") + _MARK  # a value may have the mark


@dataclass(frozen=True, order=True)
class Place:
    """Where a record stands: in a file, and in which line, from 1; or in a partition of a topic, and at which offset.

    line: -1: in none alone.
    """

    file: str
    line: int = -1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line >= 0 else self.file


@dataclass(frozen=True, order=True)
class Fault:
    """What is wrong with a record, as data: where it stands; and why it is refused, what is accepted, and a remedy."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


Others = Callable[[], Sequence[Fault]]
"""Returns the faults of all lines that are wrong in the same way."""


class DataError(IntegratorError):
    """A record cannot be read or written; the owner of the data acts."""

    kind = DATA
    has_values = True

    def __init__(self, fault: Fault | str, others: Others | None = None, place: tuple[str, int] | None = None) -> None:
        """Take the fault of the first wrong record, or a text where it is of none.

        others: finds the faults of all that are wrong so, where lines may be rejected. place: the file and the line,
        of an error of another process.
        """
        super().__init__(shortened(str(fault), _DATA))
        self.fault = fault if isinstance(fault, Fault) else None
        self.others = others
        self.place = self.fault.place if self.fault else Place(*place) if place else None

    def to_wire(self) -> str:
        """Return one line of text, as the other errors, with the place."""
        place = None if self.place is None else (self.place.file, self.place.line)
        return _on_wire([type(self).__name__, *self.args, None, place])


class PublicDataError(DataError):
    """The same, where the text has names, types and positions, and no value of a row: everybody may see it."""

    has_values = False


class TooManyRejected(PublicDataError):
    """More lines are rejected than the channel allows: of whichever table, the channel stops."""


class DeliveryError(IntegratorError):
    """Kafka did not acknowledge everything; the cycle is not synced and will be sent again.

    code: of the first message that failed, as librdkafka has it (rd_kafka_resp_err_t); 0: it has none.
    """

    kind = DELIVERY

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class EnvironmentFault(IntegratorError):
    """A file, a broker, a topic or a lock is not as it must be; the operator acts."""

    kind = ENVIRONMENT


class RegistryAway(EnvironmentFault):
    """No schema registry answers, or it fails: nothing is sent, and the cycle will be sent again."""

    kind = REGISTRY


class SourceAway(IntegratorError):
    """What changes are read from does not answer: nothing is lost, and the cycle will be sent again."""

    kind = SOURCE


class ProcessLost(IntegratorError):
    """A process of Spark's has ended: the cycle is not synced and will be sent again."""

    kind = PROCESS


class ProcessLate(ProcessLost):
    """A Python process of Spark's did not begin in time, as happens on a busy machine: nothing has failed yet."""


class Found(IntegratorError):
    """Records have what the plan does not know: the driver learns it, and the cycle is sent again."""

    def __str__(self) -> str:
        return str(self.args[0])


class ColumnsFound(Found):
    """Records have columns that the definitions of their tables have not, and the channel says to add them."""

    kind = COLUMNS

    def __init__(self, text: str, tables: Mapping[str, Mapping[str, Sequence[Any]]], ordinal: int = 0) -> None:
        """Take tables' columns with their datatypes, and the lines that have them first, in the file of this number."""
        super().__init__(text, tables, ordinal)
        self.tables, self.ordinal = tables, ordinal

    def of_file(self, ordinal: int) -> ColumnsFound:
        """Return the same, with the number of the file."""
        return ColumnsFound(str(self), self.tables, ordinal)


class SchemasFound(Found):
    """Records of a topic have schemas that are not known yet: the registry is to be asked for them."""

    kind = SCHEMAS

    def __init__(self, text: str, topic: str, ids: Sequence[int]) -> None:
        """Take the ids of schemas of a topic."""
        super().__init__(text, topic, ids)
        self.topic, self.ids = topic, tuple(ids)


class TopicsFound(Found):
    """Rows are for topics that are not known yet to be there."""

    kind = TOPICS
    has_values = True

    def __init__(self, text: str, topics: Sequence[str]) -> None:
        """Take topics."""
        super().__init__(text, topics)
        self.topics = tuple(topics)


class Defect(IntegratorError):
    """The integrator itself is wrong, neither the data nor the channel; the maintainers act, by its traceback."""

    kind = DEFECT
    has_values = True

    @classmethod
    def of(cls, error: BaseException, where: str, *, hidden: bool = False) -> Defect:
        """Return the defect that showed itself as `error`; its text has the traceback.

        hidden: without the error's own text, which may have values of rows.
        """
        if hidden:
            pieces = [*traceback.format_tb(error.__traceback__), f"{type(error).__name__} (its text is not shown)"]
        else:
            pieces = traceback.format_exception(type(error), error, error.__traceback__)
        lines = "".join(pieces).splitlines()
        trace = "\n".join(shortened(line, _TRACED) for line in lines)
        return cls(f"{where}: a defect of the integrator, not of the data; report it with this traceback:\n{trace}")


OF_DISKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
"""Numbers of errors that a disk has, which its operator mends."""
_OF_RIGHTS = frozenset({errno.EACCES, errno.EPERM})


def as_integrator_error(error: BaseException, where: str) -> IntegratorError:
    """Return an error of the integrator's for any: EnvironmentFault of a disk, or of a file that our user may not use.

    What nobody expected is a Defect. where: what was done, for that.
    """
    if isinstance(error, IntegratorError):
        return error
    if isinstance(error, OSError) and error.errno in OF_DISKS:
        place = f"{error.filename}: " if error.filename else ""
        return EnvironmentFault(
            f"{place}{error.strerror}: the disk of the state, the spool, or Spark's directory: make room, or mend "
            "it, and start again"
        )
    if isinstance(error, OSError) and error.errno in _OF_RIGHTS and error.filename:
        return EnvironmentFault(
            f"{error.filename}: {error.strerror}: the user who runs this may not use it: give the right to that, or "
            "name another place (`state` of the channel, or an option of the command)"
        )
    return Defect.of(error, where)


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with what the author wrote: where it stands, and what is accepted instead."""

    file: str
    line: int
    path: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.path}: {self.text}" if self.path else f"{place}: {self.text}"


@dataclass(frozen=True)
class Reason:
    """What is wrong with a table, and what is accepted.

    alike: what the texts of tables that are wrong in the same way have in common; empty where they are the same.
    narrows: the text says for which tables it would be right.
    """

    text: str
    alike: str = ""
    narrows: bool = False

    @staticmethod
    def of(given: str | Reason) -> Reason:
        """Return a text as a reason that is the same for all tables; a reason as it is."""
        return Reason(given) if isinstance(given, str) else given


class ConfigurationError(IntegratorError):
    """The channel or its table definitions are wrong; every problem found in one run is in `problems`."""

    kind = CONFIGURATION

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems = () if isinstance(problems, str) else tuple(sorted(set(problems)))
        super().__init__(problems if isinstance(problems, str) else "\n".join(map(str, self.problems)))


class SchemaRefused(ConfigurationError):
    """A registry does not take the schema of a table."""

    def __init__(self, text: str, table: str) -> None:
        """Take what is wrong, with the choices."""
        self.table = table
        super().__init__(text)


class BegunOtherwise(ConfigurationError):
    """A cycle was begun with another definition of the channel, and a part of it is committed.

    The driver may know that definition: see `run.left_cycle`.
    """


_KINDS: tuple[type[IntegratorError], ...] = (
    ConfigurationError, DataError, PublicDataError, TooManyRejected, DeliveryError, EnvironmentFault, RegistryAway,
    SourceAway, ProcessLost, ProcessLate, ColumnsFound, SchemasFound, TopicsFound, Defect,
)  # fmt: skip
_BY_NAME = {kind.__name__: kind for kind in _KINDS}
_SYSTEMS = (OSError, EOFError, MemoryError)
"""System errors, not of this code: Spark hands them to the driver unchanged, and `classify` knows some."""


def from_wire(text: str) -> IntegratorError | None:
    """Return the error that a worker put into `text` by `to_wire`, or None if there is none in it."""
    parts = text.split(_MARK)
    if len(parts) < 3:
        return None
    name, *arguments = json.loads(parts[1])
    return _BY_NAME[name](*arguments)


def to_wire_error(error: Exception, where: str, *, hidden: bool = False) -> Exception:
    """Return what to raise in a worker for `error`, so that `from_wire` finds it: a defect, where nobody foresaw it.

    where: what the worker was doing, for a defect. hidden: as in `Defect.of`.
    """
    if isinstance(error, IntegratorError):
        return RuntimeError(error.to_wire())
    if isinstance(error, _SYSTEMS) or from_wire(str(error)) is not None:  # it has crossed a step before
        return error
    return RuntimeError(Defect.of(error, where, hidden=hidden).to_wire())
