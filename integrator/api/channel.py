"""Channels from Python: what the commands `run`, `check` and `plan` do."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from integrator import plan as planning
from integrator.api import logs
from integrator.channel.load import RunOptions
from integrator.channel.secret import Secrets
from integrator.cli import check as checking
from integrator.cli import command_file, direct, show
from integrator.cli.local import local_timezone
from integrator.cli.observers import observed
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError, IntegratorError
from integrator.names import meant
from integrator.plan import Plan

if TYPE_CHECKING:
    import threading

    from pyspark.sql import SparkSession
    from typing_extensions import Never

_COLUMNS = 10_000
"""How wide the text of a plan may be: none of its lines is divided."""


class Channel:
    """A channel that was checked: what its file says, and what follows from it."""

    def __init__(self, made: Plan) -> None:
        """Take its plan: `load` makes one of a file."""
        self.made = made

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        environment: Mapping[str, str] | None = None,
        *,
        contexts: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Channel:
        """Return the channel in a file, as the command `check` sees it without --connect.

        environment: variables that this process gets first, for `${NAME}` and the passwords of databases. contexts,
        variables: as --context and --variable. Raises ConfigurationError, whose `problems` are all that are found, each
        with file, line, path and reason.
        """
        os.environ.update(environment or {})
        options = RunOptions(frozenset(contexts), tuple((variables or {}).items()))
        with hidden(options.secrets):
            return cls(planning.build(os.fspath(path), local_timezone(), options, client=refused))

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.made.channel

    @property
    def plan(self) -> str:
        """What would be sent, for people: topics, keys, columns and schemas, as the command `plan` prints it."""
        text = io.StringIO()
        show.plan(self.made, [], Console(file=text, width=_COLUMNS, color_system=None))
        return text.getvalue()

    def check(self, *, connect: bool = True) -> list[str]:
        """Inspect this machine, and, with `connect`, try sources, brokers, topics and registry; return what was found.

        Raises ConfigurationError with all problems where the channel is to be mended, else EnvironmentFault.
        """
        with hidden(self.made.secrets):
            found = checking.connect([self.made], None) if connect else checking.inspect([self.made])
        return [*self.made.notes, *found.splitlines()]

    def run(self, *, once: bool = False) -> None:
        """Integrate until SIGINT or SIGTERM; with `once`, what exists now. Progress is kept in the channel's `state`.

        Where this process has a Spark session, its Spark is used, and stays; else there is one for as long as this
        takes. Raises IntegratorError.
        """
        from integrator.run.spark import session  # noqa: PLC0415 - heavy

        with hidden(self.made.secrets):
            integrate(self.made, once=once, spark=session.there())


def run(  # noqa: PLR0913 - each is an option of the command
    source: str,
    to: str,
    *,
    registry: str | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    tables: Sequence[str] = (),
    exclude: Sequence[str] = (),
    text_columns: Sequence[str] = (),
    on_rewrite: str = "read_again",
    values_without_form: str = "null",
    missing_values: str = "null",
    definitions: str | None = None,
    topic: str | None = None,
    deletes: str = "row",
    snapshot: str | None = None,
    state: str | os.PathLike[str] = "integrator-state",
    change: bool = False,
    once: bool = False,
    **unknown: Never,
) -> None:
    """Send a database, or a directory of change files, to Kafka: the command `run`, whose --from is `source`.

    The channel and its state are those of the command with the same options, so that each continues where the other
    was. A password in the address is put into this process's environment, and into no file. Raises TypeError for
    options that are unknown, IntegratorError otherwise.
    """
    if unknown:
        name = next(iter(unknown))
        raise TypeError(f"integrator.run has no option {name!r}; {meant(name, _OPTIONS)}")
    asked = direct.Asked(
        source,
        to,
        registry,
        format,
        tuple(tables),
        topic,
        direct.has_tombstones(deletes),
        definitions,
        snapshot,
        tuple(exclude),
        tuple(text_columns),
        on_rewrite,
        values_without_form,
        missing_values,
    )
    made = direct.channel_of(asked)
    file = Path(state) / f"{made.name}.yaml"
    command_file.written(made, file, change=change)
    given = {} if made.password is None else {made.variable: made.password}
    Channel.load(file, given).run(once=once)


_OPTIONS = tuple(name for name in run.__annotations__ if name not in ("return", "unknown"))


def integrate(
    made: Plan, *, once: bool, spark: SparkSession | None = None, stopping: threading.Event | None = None
) -> None:
    """Integrate a channel, with what watches it. Raises IntegratorError."""
    from integrator.run import daemon  # noqa: PLC0415 - heavy

    logs.configure(made.secrets)
    with observed([made]) as observer:
        daemon.integrate([made], once=once, observer=observer, stopping=stopping, spark=spark)


@contextlib.contextmanager
def hidden(secrets: Secrets) -> Iterator[None]:
    """Have the errors that leave this be without secrets."""
    try:
        yield
    except IntegratorError as error:
        if isinstance(error, ConfigurationError):
            error.problems = tuple(replace(one, text=secrets.mask(one.text)) for one in error.problems)
        error.args = tuple(secrets.mask(one) if isinstance(one, str) else one for one in error.args)
        raise error from None  # what caused it may have a secret in its text
