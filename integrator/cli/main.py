"""The commands: the only argv, console output and exit code.

Exit codes: 0 done; 1 a defect of the integrator; 2 configuration (the author of the channel acts); 3 data (the owner of
the data); 4 delivery (run it again); 5 environment (the operator).
"""

from __future__ import annotations

import os
import platform
import signal
import ssl
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from integrator import plan as planning
from integrator.channel.load import RunOptions
from integrator.channel.secret import Secrets
from integrator.cli import as_json, definitions, output, show
from integrator.cli import check as checking
from integrator.cli import init as initial
from integrator.cli import replay as replaying
from integrator.cli import send as sending
from integrator.cli.imports import commands as importing
from integrator.cli.local import local_timezone
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError, Defect, IntegratorError
from integrator.names import meant
from integrator.plan import Plan
from integrator.plan.source import is_loopback
from integrator.refresh.ledger import Ledger
from integrator.run import backup, failure, progress, rewind
from integrator.run import resume as resuming
from integrator.run.state import State

app = typer.Typer(
    help="Integrate database changes into Kafka. Without a command: integrate, continuously.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(importing.app, name="import")

Contexts = Annotated[list[str] | None, typer.Option("--context", "-C", help="A context that actions ask for.")]
Variables = Annotated[list[str] | None, typer.Option("--variable", "-V", help="NAME=VALUE for {hvr_var_NAME}.")]
Refreshing = Annotated[bool, typer.Option("--refresh", help="The channel as refresh has it: whole tables.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
ChannelFile = Annotated[str, typer.Option("--channel", help="The channel's YAML file.")]


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
    once: Annotated[bool, typer.Option("--once", help="Integrate what is there, and end.")] = False,
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
    if debug:
        os.environ[progress.DEBUG] = "1"
    progress.configure()
    if context.invoked_subcommand is not None:
        return
    if not channel:
        raise typer.BadParameter("--channel FILE is needed")
    from integrator.monitor.server import serving  # noqa: PLC0415 - check and plan need neither it nor Spark
    from integrator.run import daemon  # noqa: PLC0415

    plans = [_plan(context, file, contexts, variables) for file in channel]
    if len({plan.state for plan in plans}) < len(plans):
        raise typer.BadParameter("two of the channels keep their progress in the same directory (channel, state)")
    progress.configure(*(plan.secrets for plan in plans))
    with serving(plans) as observer:
        daemon.integrate(plans, once=once, observer=observer)


def _plan(
    context: typer.Context,
    channel: str,
    contexts: list[str] | None,
    variables: list[str] | None,
    *,
    refreshing: bool = False,
) -> Plan:
    """Make the plan; librdkafka looks at its properties too. Its secrets are hidden in what `main` prints."""
    given = [tuple(text.partition("=")[::2]) for text in variables or []]
    if any("=" not in text for text in variables or []):
        raise typer.BadParameter("--variable is written NAME=VALUE")
    run = RunOptions(frozenset(contexts or []), tuple((name, value) for name, value in given))
    context.obj.append(run.secrets)  # before the first of them is known: a defect's traceback may show it
    progress.configure(run.secrets)
    return planning.make(channel, local_timezone(), run, refreshing=refreshing, client=refused)


@app.command()
def check(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    connect: Annotated[
        bool, typer.Option("--connect", help="Also try brokers, topics and the schema registry.")
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
    if test_topic and not connect:
        raise typer.BadParameter("--test-topic goes with --connect")
    plan = _plan(context, channel, contexts, variables, refreshing=refreshing)
    connected = checking.connect(plan, test_topic) if connect else checking.look_at(plan)
    if as_object:
        typer.echo(as_json.check(plan, channel, connected))
        return
    report = f"{channel}: {len(plan.recipe.tables)} tables, no problems"
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
    made = _plan(context, channel, contexts, variables, refreshing=refreshing)
    known = [one.table.name for one in made.recipe.tables]
    for name in table or []:
        if name not in known:
            raise ConfigurationError(f"--table {name!r} is no table that is sent; {meant(name, known, 'those are')}")
    if as_object:
        typer.echo(as_json.plan(made, table or []))
    else:
        show.plan(made, table or [], output.console())


@app.command()
def state(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    back_to: Annotated[
        int | None, typer.Option("--back-to", help="Go back to this synced cycle: all that came after is sent again.")
    ] = None,
    export: Annotated[Path | None, typer.Option("--export", help="Write a backup of the progress into a file.")] = None,
    restored: Annotated[Path | None, typer.Option("--import", help="Restore the progress from a backup.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="With --import: what is there is lost.")] = False,
    cycles: Annotated[int, typer.Option("--cycles", help="How many of the last cycles to show.")] = 10,
    as_object: AsJson = False,
    refreshing: Refreshing = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Show the last synced cycles of a channel, go back to one, or write or read a backup of the progress."""
    if sum(option is not None for option in (back_to, export, restored)) > 1:
        raise typer.BadParameter("--back-to, --export and --import exclude each other")
    if replace and restored is None:
        raise typer.BadParameter("--replace goes with --import")
    if as_object and (export or restored or back_to is not None):
        raise typer.BadParameter("--json goes with none of --back-to, --export and --import")
    made = _plan(context, channel, contexts, variables, refreshing=refreshing)
    kept, console = State(made.state), output.console()
    if back_to is not None and kept.path.exists():
        kept.lock(made.channel, 0)
        try:
            again = rewind.move_back(kept, back_to)
        finally:
            kept.unlock()
        report = f"{len(again)} cycles that came after it are sent again" if again else "nothing came after it"
        console.print(f"channel {made.channel} goes on after cycle {back_to}; {report}")
    if export is not None:
        made_of = backup.export(kept, made.channel, export)
        console.print(f"{export}: channel {made.channel} after cycle {made_of.cycle}, {made_of.files} files")
    if restored is not None:
        made_of = backup.restore(kept, made.channel, restored, replace=replace)
        console.print(f"channel {made.channel} goes on after cycle {made_of.cycle}, as of {made_of.made}")
    if as_object:
        typer.echo(as_json.state(made, kept, failure.read(kept.path), rewind.history(kept)[-cycles:]))
        return
    for line in show.standing(kept, failure.read(kept.path), Ledger(kept.path)):
        console.print(made.secrets.mask(line))
    show.state(rewind.history(kept)[-cycles:], console)


@app.command()
def refresh(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    table: Annotated[list[str] | None, typer.Option(help="Refresh these tables only.")] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", help="[T.]COL%N, [T.]COL<B1<B2, [T.]N or [T.]V1;V2: cut tables into slices."),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="How many slices are sent at once.")] = 1,
    truncate_record: Annotated[
        bool, typer.Option("--truncate-record", help="A truncate record before the first rows of each table.")
    ] = False,
    select_moment: Annotated[
        str | None, typer.Option("--select-moment", help="lsn=…, scn=… or hvr_tx_seq=…: position of the rows.")
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Changes up to the moment are passed over, those after it are applied.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Start over; discard an unfinished refresh.")] = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Send whole tables into Kafka; an interrupted refresh continues with the remaining slices."""
    from integrator.refresh import job  # noqa: PLC0415 - check and plan need no Spark

    made = _plan(context, channel, contexts, variables, refreshing=True)
    progress.configure(made.secrets)
    given = (tuple(table or ()), tuple(slices or ()), parallel, truncate_record, select_moment, online, anew)
    for name, rows in job.refresh(made, job.Options(*given)).items():
        output.console().print(f"{name}: {rows:,} rows")


@app.command()
def replay(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the letters into a new file, to be mended; send nothing.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Send the mended records of this file, which --export wrote.")
    ] = None,
    from_offset: Annotated[
        int | None, typer.Option("--from-offset", min=0, help="Letters from this offset on, in each partition.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Letters from this moment on, such as 2026-11-24T08:00+00:00.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; name lines that are wrong, and keys that changed since.")
    ] = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Send dead letters through the channel again: those of its dead letter topic, or of a file of mended ones."""
    if sum(option is not None for option in (file, from_offset, since)) > 1:
        raise typer.BadParameter("--file, --from-offset and --since exclude each other")
    if export and (file or dry_run):
        raise typer.BadParameter("--export excludes --file and --dry-run")
    made = _plan(context, channel, contexts, variables)
    progress.configure(made.secrets)
    replaying.run(made, replaying.Options(export, file, from_offset, since, dry_run), output.console())


@app.command()
def suspend(
    context: typer.Context,
    channel: ChannelFile,
    reason: Annotated[str, typer.Option(help="Shown by state and in the log.")] = "by the operator",
    refreshing: Refreshing = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Have a channel's daemon wait after the cycle that it is in."""
    made = _plan(context, channel, contexts, variables, refreshing=refreshing)
    State(made.state).suspend(reason)
    output.console().print(f"channel {made.channel} is suspended: {reason}")


@app.command()
def resume(
    context: typer.Context,
    channel: ChannelFile,
    refreshing: Refreshing = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Have a suspended channel go on, or a failed one start again; report what it does then."""
    made = _plan(context, channel, contexts, variables, refreshing=refreshing)
    output.console().print(resuming.resume(State(made.state), made.channel))


@app.command()
def send(  # noqa: PLR0913, PLR0917 - each is an option of the command
    file: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The file whose lines are sent.")],
    to: Annotated[str, typer.Option(help="host:port of the channel's socket.")],
    sender: Annotated[str, typer.Option(help="The sender's name: letters, digits, - and _.")],
    authority: Annotated[str | None, typer.Option(help="With TLS: PEM file of who signed its certificate.")] = None,
    certificate: Annotated[str | None, typer.Option(help="With TLS: PEM file of our own, its key in it.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End when all that is there is received.")] = False,
    without_tls: Annotated[
        bool, typer.Option("--without-tls", help="Beyond loopback: the secret and the lines may be read on their way.")
    ] = False,
) -> None:
    """Send the lines of a growing file into a channel's socket; ${SOCKET_SECRET} is its secret."""
    host, _, port = to.rpartition(":")
    if not host or not port.isdigit():
        raise typer.BadParameter("--to is written HOST:PORT")
    if certificate and not authority:
        raise typer.BadParameter("--certificate goes with --authority")
    if authority and without_tls:
        raise typer.BadParameter("--without-tls and --authority exclude each other")
    if not (authority or without_tls or is_loopback(host.strip("[]"))):
        raise ConfigurationError(
            f"--to {to} is beyond loopback: whoever is between could read the secret and the lines, and change them; "
            "give --authority, the PEM file of who signed its certificate, for TLS (the channel's socket has tls), or "
            "--without-tls, where the network itself is protected"
        )
    tls = ssl.create_default_context(cafile=authority) if authority else None
    if tls is not None and certificate:
        tls.load_cert_chain(certificate)
    target = sending.Target(host, int(port), sender, os.environ.get("SOCKET_SECRET"), tls)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    received = sending.send(file, target, ended, follow=not once)
    output.console().print(f"{received} lines are received")


app.command()(definitions.tables)


@app.command()
def init(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    tables: Annotated[
        str,
        typer.Option(
            help="Table definitions: SQL (a dump, too), Avro or YAML; or a database, as jdbc:postgresql://host/database."
        ),
    ],
    channel: Annotated[Path, typer.Option(help="The channel file to write.")] = Path("channel.yaml"),
    changes: Annotated[str, typer.Option(help="The directory in which change files appear.")] = "changes",
    brokers: Annotated[str, typer.Option(help="host:port of brokers, with commas.")] = "localhost:9092",
    sql_dialect: Annotated[
        str | None,
        typer.Option(help="postgres, mysql, oracle, tsql, db2; without: what understands the file."),
    ] = None,
    schema: definitions.Schemas = None,
    user: definitions.User = None,
    password_file: definitions.PasswordFile = None,
    jar: definitions.Jars = None,
) -> None:
    """Write a first channel for the tables of a file or a database, check it, and say what to do next."""
    if channel.exists():
        raise ConfigurationError(f"{channel}: is there already; give another --channel, or remove it")
    file = Path(tables)
    if tables.startswith(definitions.JDBC):
        secrets, file = Secrets(), channel.with_suffix(".sql")
        context.obj.append(secrets)
        asked = definitions.Asked(tables, user, password_file, tuple(jar or ()), tuple(schema or ()))
        sql_dialect = definitions.write(asked, file, secrets).sql_dialect
    elif user or password_file or schema or jar:
        raise typer.BadParameter("--user, --password-file, --schema and --jar go with --tables jdbc:…")
    elif not file.is_file():
        raise typer.BadParameter(f"--tables {tables}: there is no such file")
    given = initial.Options(file, sql_dialect, changes, brokers, channel)
    output.console().print(initial.run(given, local_timezone()))


@app.command()
def quickstart(
    channel: Annotated[
        str | None, typer.Option(help="A channel whose brokers are ${KAFKA_BROKERS}; without: the demonstration's own.")
    ] = None,
) -> None:
    """Send recorded changes into a Kafka in this process, read the topics back, and show what arrived."""
    from integrator.cli import quickstart as demo  # noqa: PLC0415 - check and plan need no Spark

    demo.run(channel, local_timezone())


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
            return _report(Defect.of(error, "run.py"), secrets)
        print(f"{error.format_message()}; see --help", file=sys.stderr)  # noqa: T201
        return 2
    return ended if isinstance(ended, int) else 0


def _report(error: IntegratorError, secrets: list[Secrets]) -> int:
    """Print an error without its secrets; return the exit code."""
    if "--json" in sys.argv:
        typer.echo(as_json.error(error, secrets))
        return error.kind.exit_code
    text = str(error)
    for known in secrets:
        text = known.mask(text)
    print(f"{text}\n({error.kind.name}: to be acted on by {error.kind.who})", file=sys.stderr)  # noqa: T201
    return error.kind.exit_code
