"""The source of a channel -> what executors need to know of it, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from integrator.channel import brokers, kafka_access
from integrator.channel.model import Channel
from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Problems
from integrator.channel.registry_access import access_of
from integrator.channel.sources import SourceLocation
from integrator.channel.topics import TopicsLocation, is_read
from integrator.contracts.recipe import DebeziumModes, Read
from integrator.contracts.table_recipe import TableRecipe
from integrator.decode.dialects import DIALECTS
from integrator.schema import Decimal, Table
from integrator.sources.by_class import SOURCES
from integrator.sources.contract import Source
from integrator.sources.tables import TABLE_SOURCES, TableSource


def change_sources(channel: Channel) -> dict[str, Source]:
    """Return the locations from which changes come, by name."""
    found = channel.locations.items()
    return {name: SOURCES[type(one)](one) for name, one in found if isinstance(one, SourceLocation)}


def known_sources(channel: Channel) -> dict[str, Source]:
    """Return the locations from which changes come, with what the channel's state keeps of their schemas.

    Raises EnvironmentFault for a state that is damaged.
    """
    return {name: one.known_in(Path(channel.place)) for name, one in change_sources(channel).items()}


def defined_tables(changes: Mapping[str, Source], problems: Problems) -> tuple[dict[str, Source], list[Table]]:
    """Return sources with the definitions of their tables, and these tables.

    That there are none is a problem. Raises IntegratorError for a source that cannot be asked.
    """
    found, tables = dict[str, Source](), list[Table]()
    for name, one in changes.items():
        found[name] = one.defines() or one
        tables += found[name].tables()
    if not tables:
        for name, one in found.items():
            parameter, text = one.no_tables
            problems.add(("locations", name, parameter) if parameter else ("tables",), text)
    return found, tables


def table_sources(channel: Channel) -> dict[str, TableSource]:
    """Return the locations from which tables are refreshed, by name."""
    found = channel.locations.items()
    return {name: TABLE_SOURCES[one.class_](one) for name, one in found if one.class_ in TABLE_SOURCES}


def read_of(
    source: Source, tables: Sequence[Table], state: str, absent: tuple[Table, ...], *, are_defined: bool
) -> Read:
    """Return how changes are read. state: the channel's state directory. absent: tables not to be sent.

    are_defined: whether files define the tables, and not what the source has.
    """
    location = source.location
    return Read(
        dialect=location.dialect,
        path=source.place(Path(state)),
        default_table=location.table or (tables[0].name if len(tables) == 1 else None),
        debezium=DebeziumModes(**location.debezium.model_dump()),
        source_zone=location.time_zone,
        timestamp_column=location.timestamp_column,
        ignore_unknown_tables=location.unknown_tables == "ignore",
        unknown_columns=location.unknown_columns,
        repeated_positions=location.repeated_positions == "send",
        absent=absent,
        any_database=source.any_database,
        follows_schemas=source.has_records and not are_defined,
    )


def read_of_tables(channel: Channel, absent: tuple[Table, ...]) -> Read:
    """Return how tables are read for a refresh, beside the changes of `channel`."""
    dialects = [source.location.dialect for source in change_sources(channel).values()]
    return Read(absent=absent, finite=any(DIALECTS[dialect].finite for dialect in dialects))


def money_notes(source: Source, tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield a note for each column of PostgreSQL's money, which wal2json writes with the sign of its currency."""
    if source.location.dialect not in {"wal2json", "auto"}:
        return
    for table in tables:
        for column in table.in_source.columns:
            if isinstance(column.type, Decimal) and column.type.role == "money":
                yield (
                    f"table {table.table.name}, column {column.name}: wal2json writes money in the format of "
                    "lc_monetary ($1,234.50), which is refused: declare the column as text in the table's definition"
                )


def check_not_read(channel: Channel, sent: Sequence[str], servers: str, problems: Problems) -> None:
    """Add a problem for topics of the same brokers that are read and sent to. servers: of those that are sent to."""
    for name, location in channel.locations.items():
        if not isinstance(location, TopicsLocation):
            continue
        is_same = {*brokers.bootstrap(location.Kafka_Brokers).split(",")} & {*servers.split(",")}
        if both := sorted({topic for topic in sent if topic and is_same and is_read(topic, location.topics)}):
            problems.add(
                ("locations", name, "topics"),
                f"the topics {', '.join(both)} are read and sent to: what is sent would be read again, without end; "
                "have patterns leave them out, as in '^shop[.](?!dead$).*', or send to topics of other names",
            )


def check_sources(channel: Channel, changes: Mapping[str, Source], tables: Sequence[Table], problems: Problems) -> None:
    """Add the problems of all sources of a channel; `tables` are the channel's. changes: where these come from."""
    of_tables = table_sources(channel)
    sources: dict[str, Source | TableSource] = {**changes, **of_tables}
    for name in filter(sources.__contains__, channel.locations):
        if isinstance(location := channel.locations[name], TopicsLocation):
            kafka_access.hide(location, problems.source.secrets)
            brokers.hide(location.Kafka_Brokers, problems.source.secrets)
            access_of(location, lambda _parameter, _text, _table="": None, problems.source.secrets)
        sources[name].check(tables, problems.at_location(name))
        for at, jar in enumerate(of_tables[name].location.jars if name in of_tables else ()):
            if why := no_file(jar):
                text = f"{why} {as_known(jar)}; give the path of the driver's jar"
                problems.add(("locations", name, "jars", at), text)
