"""The commands: the only argv, console output and exit code.

Exit codes: 0 done; 1 a defect of the integrator; 2 configuration (the author of the channel acts); 3 data (the owner of
the data); 4 delivery (run it again), and of `compare` that tables and topics differ; 5 environment (the operator).
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from integrator.channel.secret import Secrets
from integrator.cli import airbyte as airbytes
from integrator.cli import compare, definitions, output, refresh, replay_command, send_command, state
from integrator.cli import imports as importing
from integrator.cli import init as initial
from integrator.cli.local import local_timezone
from integrator.cli.options import AsJson, ChannelFile, Contexts, Refreshing, Variables, channel_of, plan_of
from integrator.cli.templates import Template
from integrator.errors import ConfigurationError, IntegratorError, Problem, as_integrator_error, command
from integrator.names.numbers import counted

if TYPE_CHECKING:
    from integrator.plan import Plan

app = typer.Typer(
    help="Integrate database changes into Kafka. Without a command: integrate, continuously.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

GROUPS: dict[str, typer.Typer] = {"import": importing.app, "airbyte": airbytes.app}
"""Commands that have commands below them."""
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def _show_version(wanted: bool) -> None:
    """Print the versions of the integrator and of what it stands on, where they are asked for."""
    if wanted:
        found = [f"{name} {_version_of(name)}" for name in ("integrator", "pyspark", "pyarrow", "confluent-kafka")]
        typer.echo(f"{', '.join(found)}; Python {platform.python_version()}")
        raise typer.Exit


def _version_of(package: str) -> str:
    """Return the version of a package; where its code runs without being installed, as in the image, none is known."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


@app.callback(invoke_without_command=True)
def integrate(
    context: typer.Context,
    channel: Annotated[
        list[str] | None, typer.Option(help="The channel's YAML file; several for several channels in one process.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Integrate existing changes, and end.")] = False,
    contexts: Contexts = None,
    variables: Variables = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Log all that Spark's JVM writes too, traces included.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the versions, and end.")
    ] = False,
) -> None:
    """Integrate database changes into Kafka."""
    from integrator.run.seen import progress

    if debug:
        os.environ[progress.DEBUG] = "1"
    progress.configure()
    if context.invoked_subcommand is not None:
        if sum(word.partition("=")[0] == "--channel" for word in sys.argv[1:]) > 1:
            raise typer.BadParameter(f"{context.invoked_subcommand} takes one --channel: run it for each")
        return
    if not channel:
        raise typer.BadParameter("--channel FILE is needed")
    with _logged(context.obj):
        _begin_spark()
        _integrate([plan_of(context, file, contexts, variables) for file in channel], once=once)


def _begin_spark() -> None:
    """Begin to start Spark's JVM, before what takes as long is imported: the plan, and all that reads and sends."""
    from integrator.run.spark import configuration

    configuration.begin_ahead()


def _integrate(plans: list[Plan], *, once: bool) -> None:
    """Integrate channels, with what watches them. Raises IntegratorError."""
    from integrator.cli.observers import observed
    from integrator.run import daemon
    from integrator.run.seen import progress
    from integrator.run.state.directory import State

    if same := [one for one, many in Counter(plan.state for plan in plans).items() if many > 1]:
        raise typer.BadParameter(
            f"{counted(len(plans), 'channel')}, of which some keep their progress in the same directory, "
            f"{', '.join(same)}: give each another `channel`, or another `state`"
        )
    progress.configure(*(plan.secrets for plan in plans))
    for plan in plans:  # before their address is found to be taken
        State(plan.state).check_free(plan.channel)
    with observed(plans) as observer:
        daemon.integrate(plans, once=once, observer=observer)


@contextlib.contextmanager
def _logged(secrets: list[Secrets]) -> Iterator[None]:
    """Log the error that ends a run as one JSON event, where the log is not on a terminal."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        if sys.stderr.isatty() or hasattr(error, "format_message"):
            raise
        import structlog

        from integrator.run.seen import progress

        ended = as_integrator_error(error, command())
        progress.configure(*secrets)
        kind, text = ended.kind, _text(ended, secrets)
        structlog.get_logger().error("the process ends", error=text, kind=kind.name, exit_code=kind.exit_code)
        raise typer.Exit(kind.exit_code) from None


@app.command()
def check(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    connect: Annotated[
        bool, typer.Option("--connect", help="Also try sources, brokers, topics and the schema registry.")
    ] = False,
    test_topic: Annotated[
        str | None, typer.Option("--test-topic", help="With --connect: send a message to this topic and read it back.")
    ] = None,
    as_object: AsJson = False,
    refreshing: Refreshing = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Check a channel completely; needs neither Spark nor Kafka."""
    from integrator.cli import as_json
    from integrator.cli import check as checking

    if test_topic and not connect:
        raise typer.BadParameter("--test-topic goes with --connect")
    plan = plan_of(context, channel, contexts, variables, refreshing=refreshing)
    plans = [plan, plan_of(context, channel, contexts, variables, refreshing=True)] if plan.refreshes else [plan]
    connected = checking.connect(plans, test_topic) if connect else checking.inspect(plans)
    if as_object:
        typer.echo(as_json.check(plan, channel, connected))
        return
    stopped = f"{counted(len(plan.aside), 'table')} set aside" if plan.aside else "no problems"
    report = f"{channel}: {counted(len(plan.recipe.tables), 'table')}, {stopped}"
    report += "".join(f"\n{note}" for note in (*plan.notes, *filter(None, [connected])))
    output.console().print(plan.secrets.mask(report))


@app.command()
def plan(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    table: Annotated[list[str] | None, typer.Option(help="Show these tables only.")] = None,
    as_object: AsJson = False,
    refreshing: Refreshing = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Show what would be sent: topics, keys, columns with types and expressions, message schemas."""
    from integrator.cli import as_json, show

    made = plan_of(context, channel, contexts, variables, refreshing=refreshing)
    names, wrong = made.named(table or ())
    if wrong:
        raise ConfigurationError([Problem("plan", 0, "", text) for text in wrong])
    if as_object:
        typer.echo(as_json.plan(made, names))
    else:
        show.plan(made, names, output.console())


COMMANDS: dict[str, Callable[..., None]] = {
    "state": state.state,
    "refresh": refresh.refresh,
    "compare": compare.compare,
    "replay": replay_command.replay,
    "suspend": state.suspend,
    "resume": state.resume,
    "send": send_command.send,
    "tables": definitions.tables,
    "init": initial.init,
}
"""Commands that have modules of their own."""
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


@app.command()
def run(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="The database: postgresql://, mysql:// or mariadb://USER@HOST:PORT/DATABASE; or a directory of files.",
        ),
    ],
    brokers: Annotated[str, typer.Option("--to", help="Kafka brokers: HOST:PORT, several with commas.")],
    registry: Annotated[
        str | None, typer.Option(help="URL of a schema registry: for Avro, which is the default then.")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="connect-json (default), json, avro, protobuf, json-schema.")
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--tables", help="Which tables: SCHEMA.TABLE, with * for any text; all without it."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Which of these are not sent, written as --tables.")] = None,
    text_columns: Annotated[
        list[str] | None, typer.Option(help="Columns that are sent as the text of the database: TABLE.COLUMN.")
    ] = None,
    on_rewrite: Annotated[
        str, typer.Option(help="Rows that become others without a change in the log: read_again; warn; or stop.")
    ] = "read_again",
    values_without_form: Annotated[
        str, typer.Option(help="Values that messages have no form for, such as NaN: null, and counted; text; or stop.")
    ] = "null",
    missing_values: Annotated[
        str, typer.Option(help="What the log leaves out, in Avro and Protobuf: null, and named in a column; or refuse.")
    ] = "null",
    table_definitions: Annotated[
        str | None, typer.Option("--definitions", help="Of a directory's tables: a file with SQL, Avro or YAML.")
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(help="The topics: DATABASE.SCHEMA.TABLE without it, for MySQL and MariaDB DATABASE.TABLE."),
    ] = None,
    deletes: Annotated[
        str, typer.Option(help="row: a delete is a message with op_val 0; tombstone: one without a value follows it.")
    ] = "row",
    snapshot: Annotated[
        str | None,
        typer.Option(help="The rows that tables have: initial (default), before their changes; never; or only."),
    ] = None,
    write_channel: Annotated[
        Path | None,
        typer.Option(
            "--write-channel",
            help="Write the channel that this stands for to a file, and the address's password to one beside it; end.",
        ),
    ] = None,
    template: Annotated[
        Template, typer.Option(help="first: a minimal channel; production: for three brokers, which nobody watches.")
    ] = Template.FIRST,
    state: Annotated[Path, typer.Option(help="Where progress is kept, and the channel.")] = Path("integrator-state"),
    change: Annotated[
        bool,
        typer.Option("--change", help="Continue with these options, although a run with others has sent messages."),
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Send what exists and is committed now, and end.")] = False,
) -> None:
    """Send a database to Kafka, its rows and all changes that follow; or the change files of a directory."""
    if write_channel is None:
        _begin_spark()
    from integrator.cli import command_file, direct

    asked = direct.Asked(
        source,
        brokers,
        registry,
        format_,
        tuple(tables or ()),
        topic,
        direct.has_tombstones(deletes),
        table_definitions,
        snapshot,
        tuple(exclude or ()),
        tuple(text_columns or ()),
        on_rewrite,
        values_without_form,
        missing_values,
        template,
        command_file.password_file(write_channel).name if write_channel else None,
    )
    made = direct.channel_of(asked)
    if made.password is not None:
        os.environ[made.variable] = made.password
    if made.note:
        typer.echo(f"note: {made.note}", err=True)
    file = write_channel or state / f"{made.name}.yaml"
    if write_channel is not None:
        made = command_file.with_state(made, state, write_channel)
        command_file.refuse_other(made, write_channel)
    if noted := command_file.written(made, file, change=change):
        typer.echo(f"note: {noted}", err=True)
    if write_channel is not None:
        if made.password is not None:
            command_file.write_password(made.password, file)
        beside = f", its password in {command_file.password_file(file)}" if made.password is not None else ""
        typer.echo(f"{file}: channel {made.name}{beside}\nNext: integrator check --channel {file} --connect")
        return
    with _logged(context.obj):
        plan = plan_of(context, str(file), None, None)
        output.console().print(plan.secrets.mask("\n".join(direct.opening_lines(plan))))
        _integrate([plan], once=once)


@app.command()
def forget(context: typer.Context, channel: ChannelFile) -> None:
    """Drop the replication slot and the publication of a channel that captures a database. Its state is kept."""
    from integrator.cli import direct

    dropped = direct.forget(channel_of(context, channel))
    typer.echo("\n".join(dropped) or "nothing was there to drop")


@app.command()
def quickstart(
    channel: Annotated[
        str | None, typer.Option(help="A channel whose brokers are ${KAFKA_BROKERS}; without: the demonstration's own.")
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Send recorded changes, where a database could be captured, too.")
    ] = False,
) -> None:
    """Capture a PostgreSQL of its own into a Kafka in this process, and show what arrives; or send recorded changes."""
    with output.working("Loading the integrator"):
        _begin_spark()
        from integrator.cli import quickstart as demo

    demo.run(channel, local_timezone(), recorded=recorded)


@app.command()
def prepare() -> None:
    """Compile what is compiled once, and archive the classes of Spark's JVM: later starts take half of the CPU."""
    with output.working(
        "Integrating recorded changes, and archiving the classes that Spark's JVM loads (about a minute)"
    ):
        from integrator.cli import quickstart as demo

        archive = demo.prepare(local_timezone())
    size = archive.stat().st_size >> 20
    output.console().print(f"{archive}: {size} MiB; each start of Spark by this Python takes classes from it")
    with output.working("Compiling PySpark for Spark's Python processes"):
        from integrator.run.spark import bytecode

        found = [(one, bytecode.add(one)) for one in bytecode.archives()]
    for one, reason in found:
        made = "Spark's Python processes no longer compile it at each start"
        output.console().print(f"{one}: {f'stays without this bytecode: {reason}' if reason else made}")


def main() -> int:
    """Run the command of argv; return the exit code."""
    secrets: list[Secrets] = []
    os.umask(0o077)  # state, spool and backups have rows: they are for whoever runs this alone
    try:
        ended = app(standalone_mode=False, obj=secrets)  # a code, where SIGINT ended it
    except IntegratorError as error:
        return _report(error, secrets)
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:  # noqa: BLE001 - usage errors of the command line are the author's too
        if not hasattr(error, "format_message"):
            return _report(as_integrator_error(error, command()), secrets)
        if not (text := error.format_message()):  # the help was shown, for nothing was given
            return 0
        print(f"{text}; see --help", file=sys.stderr)  # noqa: T201
        return 2
    return ended if isinstance(ended, int) else 0


def _report(error: IntegratorError, secrets: list[Secrets]) -> int:
    """Print an error without its secrets; return the exit code."""
    if "--json" in sys.argv:
        from integrator.cli import as_json

        typer.echo(as_json.error(error, secrets))
        return error.kind.exit_code
    print(_text(error, secrets), file=sys.stderr)  # noqa: T201
    return error.kind.exit_code


def _text(error: IntegratorError, secrets: list[Secrets]) -> str:
    """Return an error without secrets, and who acts."""
    text = str(error)
    for known in secrets:
        text = known.mask(text)
    return f"{text}\n({error.kind.name}: {error.kind.action})"
