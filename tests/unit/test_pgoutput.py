"""PostgreSQL's messages as lines of JSON; where a stream stands; slots that are refused."""

import re
import struct
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from integrator import plan
from integrator.channel.databases import PostgresLocation
from integrator.channel.patterns import NAME
from integrator.cli.direct import Asked, channel_of
from integrator.decode.encodings.pgoutput import (
    Column,
    Relation,
    frame,
    records_of,
    relation_of,
    relations_in,
    split,
    whole_bytes,
)
from integrator.decode.lines.reading import LineReading
from integrator.errors import ConfigurationError, EnvironmentFault, SourceAway
from integrator.schema import Float, String
from integrator.sources.capture import frames
from integrator.sources.capture.definitions import Definition, Definitions, is_wanted, with_forms
from integrator.sources.capture.record import Record
from integrator.sources.postgres import identity
from integrator.sources.postgres.catalogue import Captured
from integrator.sources.postgres.slot import Names, Slot, check_slot
from integrator.sources.postgres.source import Postgres
from integrator.sources.spool import Spool
from tests.parts.spooled import json_of, write_segment

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

ORDERS = Relation(77, "public", "orders", "d", (Column("id", 23, -1, True), Column('na"me', 25, -1, False)))
OID = struct.pack(">I", 77)
MISSING = object()


def tuple_of(*values):
    """A tuple as pgoutput writes it: text, null or unchanged."""
    made = struct.pack(">H", len(values))
    for one in values:
        made += b"n" if one is None else b"u" if one is MISSING else b"t" + struct.pack(">I", len(one)) + one
    return made


def lines(*messages, relations=(ORDERS,)):
    data = b"".join(map(frame, messages))
    return [line for part in records_of("f", data, relations, LineReading()) for line in json_of(part)]


HEAD = {"schema": "public", "table": "orders"}
CASES = {
    "begin": (frames.begin(0x3BD39C8, 1_000, 9), {"action": "B", "lsn": 0x3BD39C8, "time": 946684800001000, "xid": 9}),
    "commit": (frames.commit(1, 2, 3), {"action": "C"}),
    "message": (b"M" + bytes(13), {"action": "M"}),
    "insert": (
        b"I" + OID + b"N" + tuple_of(b"1", b'x"y\n\\'),
        {"action": "I", **HEAD, "new": {"id": "1", 'na"me': 'x"y\n\\'}},
    ),
    "update": (b"U" + OID + b"N" + tuple_of(b"1", None), {"action": "U", **HEAD, "new": {"id": "1", 'na"me': None}}),
    "update of the key, of which nulls beside it are no values": (
        b"U" + OID + b"K" + tuple_of(b"1", None) + b"N" + tuple_of(b"2", MISSING),
        {"action": "U", **HEAD, "old": {"id": "1"}, "new": {"id": "2"}},
    ),
    "delete with all values": (
        b"D" + OID + b"O" + tuple_of(b"2", b"z"),
        {"action": "D", **HEAD, "old": {"id": "2", 'na"me': "z"}},
    ),
    "nothing is left": (b"U" + OID + b"N" + tuple_of(MISSING, MISSING), {"action": "U", **HEAD, "new": {}}),
    "truncate": (b"T" + struct.pack(">IB", 1, 3) + OID, {"action": "T", **HEAD}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_message_is_a_line(name):
    message, line = CASES[name]
    assert lines(message) == [line]


def test_what_makes_no_line():
    assert lines(ORDERS.message(), frames.Standing().message(), frames.LEFT, b"Y" + bytes(9), b"O" + bytes(9)) == []


ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
TEXTS = some.one_of(some.none(), some.text(some.characters(codec="utf-8", exclude_characters="\0"), max_size=30))


@given(some.lists(some.tuples(TEXTS, TEXTS), min_size=1, max_size=20))
def test_rows_of_copy_and_inserts_are_the_same_lines(rows):
    copied = "".join(
        "\t".join("\\N" if one is None else "".join(ESCAPES.get(letter, letter) for letter in one) for one in row)
        + "\n"
        for row in rows
    )
    inserts = [b"I" + OID + b"N" + tuple_of(*(one if one is None else one.encode() for one in row)) for row in rows]
    wanted = [{"action": "I", **HEAD, "new": {"id": one, 'na"me': other}} for one, other in rows]
    assert lines(frames.copied(77, copied.encode())) == lines(*inserts) == wanted


def test_frames_that_are_cut_anywhere_are_an_error_or_fewer_lines():
    data = b"".join(frame(message) for message, _ in CASES.values()) + frame(frames.copied(77, b"1\ta\n2\t\\N\n"))
    for size in range(len(data)):
        whole = whole_bytes(data[:size])
        assert whole <= size
        if whole < size:
            with pytest.raises(EnvironmentFault, match="is damaged"):
                list(records_of("f", data[:size], [ORDERS], LineReading()))


@pytest.mark.parametrize("rows", [b"1\ta", b"1\ta\n2\tb", b"1", b"\\\n", b"1\ta\n\\\n", b"1\ta\tb\n", b"\n"])
def test_rows_of_copy_that_are_cut_are_an_error(rows):
    """Nothing is written beside the room for the records that were counted."""
    with pytest.raises(EnvironmentFault, match="is damaged"):
        lines(frames.copied(77, rows))


@given(some.integers(0, 10_000), some.binary(min_size=1, max_size=3))
def test_damaged_frames_are_never_read_past_their_end(place, bytes_):
    data = bytearray(b"".join(frame(message) for message, _ in CASES.values()) + frame(frames.copied(77, b"1\ta\n")))
    at = place % (len(data) - len(bytes_))
    data[at : at + len(bytes_)] = bytes_
    try:
        for part in records_of("f", bytes(data), [ORDERS], LineReading(tolerant=True)):
            assert int(part.nodes.end.max()) <= len(part.data)
    except EnvironmentFault:
        pass


@pytest.mark.parametrize("value", [b"secret", "sécret".encode(), b"s\xe9cret"])
def test_i7_records_of_a_channel_that_masks_columns_are_not_shown(value):
    data = frame(b"I" + OID + b"N" + tuple_of(b"1", b"x")) + frame(b"I" + OID + b"N" + tuple_of(b"2", value))
    [records] = records_of("f", data, [ORDERS], LineReading(tolerant=True, hidden=True))
    assert all("cret" not in records.shown(at) for at in range(len(records)))
    assert all("cret" not in str(one.fault) for one in records.rejected)
    assert "the line is {" in replace(records, hidden=False).shown(0)


def test_a_change_of_a_relation_that_is_not_announced_is_an_error():
    with pytest.raises(EnvironmentFault, match="does not announce"):
        lines(CASES["insert"][0], relations=())


def test_a_relation_is_what_its_message_says():
    assert relation_of(ORDERS.message()) == ORDERS
    assert relations_in(frame(b"C" + bytes(25)) + frame(ORDERS.message())) == [ORDERS]


def test_blocks_have_all_lines_with_their_numbers():
    data = frame(CASES["insert"][0]) * 1000
    parts = list(records_of("f", data, [ORDERS], LineReading(), most=500))
    assert len(parts) > 10
    assert np.concatenate([one.numbers for one in parts]).tolist() == list(range(1, 1001))


def test_i9_where_a_stream_stands_is_in_its_last_segment(tmp_path):
    """In the middle of a transaction, and also where that began segments before."""
    spool, standing = Spool(tmp_path, framing=frames.FRAMES), frames.Standing()
    messages = [frames.begin(8, 0, 1), *[CASES["insert"][0]] * 3, frames.LEFT, *[CASES["truncate"][0]] * 2]
    messages += [frames.commit(8, 16, 0), frames.begin(24, 0, 2), CASES["message"][0]]
    for at in range(0, len(messages), 2):
        standing = write_segment(spool, standing, ORDERS, messages[at : at + 2])
        assert frames.standing_in(spool.path) == standing
    assert standing == frames.Standing(lsn=24, changes=1, end=16, begun=messages[-2], last=messages[-2])
    again = Spool(tmp_path, framing=frames.FRAMES)
    assert frames.standing_in(again.path) == standing
    assert all(next(split(path.read_bytes()))[:1] == b"0" for path in tmp_path.glob("*.frames"))


NAMES, RECORD = Names("p", "s"), Record("1", "shop", "s", creating=False)
SLOT = Slot("pgoutput", "shop", None, 100, "reserved", 0, failover=False)
REFUSED = {
    "not there": (None, RECORD, "is not there any more"),
    "not ours": (SLOT, None, "knows nothing of it"),
    "of another plugin": (
        Slot("wal2json", "shop", None, 100, "reserved", 0, failover=False),
        RECORD,
        "of the plugin wal2json",
    ),
    "of another database": (
        Slot("pgoutput", "other", None, 100, "reserved", 0, failover=False),
        RECORD,
        "in the database other",
    ),
    "invalidated": (Slot("pgoutput", "shop", None, 100, "lost", 0, failover=False), RECORD, "was invalidated"),
    "confirmed by somebody else": (
        Slot("pgoutput", "shop", None, 200, "reserved", 0, failover=False),
        RECORD,
        "confirmed up to 0/C8",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_slot_is_refused(name):
    slot, record, reason = REFUSED[name]
    with pytest.raises(EnvironmentFault, match=reason):
        check_slot(slot, record, NAMES, 100)


def test_a_slot_that_is_used_is_tried_again():
    """It may be our own connection of before, whose end the server has not noticed."""
    with pytest.raises(SourceAway, match=r"used by another process \(pid 7\)"):
        check_slot(Slot("pgoutput", "shop", 7, 100, "reserved", 0, failover=False), RECORD, NAMES, 100)


def test_a_slot_is_taken():
    check_slot(None, None, NAMES, 0)
    check_slot(SLOT, RECORD, NAMES, 100)


WANTED = [
    ("public.orders", ["*"], [], True),
    ("public.orders", ["public.*"], ["public.o*"], False),
    ("sales.orders", ["orders"], [], True),
    ("sales.orders", ["public.*"], [], False),
    ("sales.orders", ["*"], ["sales.*"], False),
]


@pytest.mark.parametrize(("table", "tables", "exclude", "wanted"), WANTED)
def test_which_tables_patterns_are_for(table, tables, exclude, wanted):
    location = type("Location", (), {"tables": tables, "exclude": exclude})
    assert is_wanted(table, location) == wanted


def test_a_column_that_might_be_null_before_may_be_null():
    """Changes of before are not sent yet."""
    known = Definitions()
    for rest in ("int", "int not null"):
        sql = f"create table public.a (k int primary key, v {rest});"
        known = known.with_text(Definition(sql, "postgres", {"public.a": ["k", "v"]}))
    [table] = known.tables()
    assert [one.nullable for one in table.columns] == [False, True]


NAMED = {
    "a schema's name before": (["public.s_t", "public.t", "s.t"], ["s_t", "t", "s_t_2"]),
    "case": (['public."AB"', 'public."Ab"', "public.ab"], ["public_ab", "public_ab_2", "ab"]),
}


@pytest.mark.parametrize("what", NAMED)
def test_no_two_tables_have_one_name(what):
    names, expected = NAMED[what]
    sql = "".join(f"create table {name} (k int primary key);" for name in names)
    known = Definitions().with_text(Definition(sql, "postgres", {one.replace('"', ""): ["k"] for one in names}))
    assert [table.name for table in known.tables()] == expected


def test_a_table_keeps_its_name_whatever_tables_come_later():
    known = Definitions()
    for names in (['public."Ab"', "s.t"], ['public."Ab"', "s.t", "public.ab", "public.t"]):
        sql = "".join(f"create table {name} (k int primary key);" for name in names)
        known = known.with_text(Definition(sql, "postgres", {one.replace('"', ""): ["k"] for one in names}))
    assert {table.full_name: table.name for table in known.tables()} == {
        "public.Ab": "ab",
        "s.t": "t",
        "public.ab": "public_ab",
        "public.t": "public_t",
    }


def test_a_relation_with_another_key_is_another_one():
    changed = replace(ORDERS, columns=tuple(replace(one, in_key=not one.in_key) for one in ORDERS.columns))
    assert changed.digest != ORDERS.digest


def test_keys_that_do_nothing_and_addresses_that_are_none_are_reported():
    given = {"class": "postgres", "address": "what is this", "time_zone": "UTC", "debezium": {}, "table": "t"}
    found = []
    Postgres(PostgresLocation(**given)).check([], lambda key, text, table="": found.append(key))
    assert sorted(found) == ["address", "debezium", "table", "table", "time_zone"]
    found.clear()
    given = {"class": "postgres", "address": "postgresql://u@h/d", "snapshot": "only", "slot": "s", "failover": True}
    Postgres(PostgresLocation(**given)).check([], lambda key, text, table="": found.append(key))
    assert sorted(found) == ["failover", "slot"]


@pytest.mark.parametrize("kind", [str, lambda text: memoryview(text.encode())])
def test_where_a_timeline_has_ended_is_read_from_the_history_of_the_next(kind):
    """Before version 14 a server gives it as bytes."""
    history = kind("1\t0/3000000\tno recovery target specified\n\n2\t0/5000148\tbefore 2026-01-01\n")
    server = SimpleNamespace(replicate=lambda _command: ("00000003.history", history))
    assert [identity._end_of(number, server, 3) for number in (1, 2, 4)] == [0x3000000, 0x5000148, 0]


def test_i7_an_address_is_shown_without_its_password():
    for address in ("postgresql://me:secret@db:5433/shop", "host=db port=5433 dbname=shop password=secret"):
        source = Postgres(PostgresLocation(**{"class": "postgres", "address": address}), channel="x")
        assert source.describe() == "PostgreSQL at db:5433/shop, tables *"
        assert "secret" not in f"{source!r} {source.reader!r}"


@pytest.mark.parametrize("address", ["host=db password=my secret", "postgresql://me:secret@db/shop?nonsense", "secret"])
def test_i7_an_address_that_is_none_is_refused_without_what_libpq_says_of_it(address, tmp_path):
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: shop
locations:
  src: {{class: postgres, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["localhost:9092"], Kafka_Default_Topic: t}}
"""
    )
    with pytest.raises(ConfigurationError, match=r"address: the address is none that libpq takes") as raised:
        plan.build(str(path), "UTC")
    assert "cret" not in str(raised.value)


def test_the_channel_of_a_command_over_a_directory_is_whole(tmp_path):
    """It has whole paths, for it is kept elsewhere."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "tables.sql").write_text("create table t (id int primary key);")
    given = Asked(str(tmp_path / "changes"), "k:9092", definitions=str(tmp_path / "tables.sql"))
    made = channel_of(given)
    (tmp_path / "elsewhere.yaml").write_text(made.text)
    built = plan.build(str(tmp_path / "elsewhere.yaml"), "UTC")
    assert [table.topic for table in built.recipe.tables] == ["changes.t"]
    for wrong, reason in (
        (replace(given, definitions=None), "files need the definitions of their tables"),
        (replace(given, definitions="none.sql"), "files need the definitions of their tables"),
        (replace(given, source="none"), "is no directory"),
        (replace(given, tables=("t",)), "--tables is for databases"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            channel_of(wrong)


RUN = [
    (Asked("mariadb://me:p%40ss@db/shop", "k:9092"), "mariadb://me@db/shop", "p@ss"),
    (Asked("postgresql://me:p%40ss@db/shop", "k:9092"), "postgresql://me@db/shop", "p@ss"),
    (Asked("postgres://db:5433/shop?sslmode=require", "k:9092"), "postgres://db:5433/shop?sslmode=require", None),
    (
        Asked("postgresql://me@db/shop?password=p%40ss&sslmode=require", "k:9092"),
        "postgresql://me@db/shop?sslmode=require",
        "p@ss",
    ),
]


@pytest.mark.parametrize(("asked", "address", "password"), RUN)
def test_the_channel_of_a_command_has_no_password(asked, address, password):
    made = channel_of(asked)
    location = yaml.safe_load(made.text)["locations"]["src"]
    assert (location["address"], made.password, made.name) == (address, password, "shop")
    assert "p@ss" not in made.text


NAMES_OF = {
    # the database: the channel's name, the topics
    "shop": ("shop", "shop.{hvr_schema}.{hvr_tbl_base_name}"),
    "customer_orders_eu": ("custome_0d32", "customer_orders_eu.{hvr_schema}.{hvr_tbl_base_name}"),
    "customer_orders_us": ("custome_ba56", "customer_orders_us.{hvr_schema}.{hvr_tbl_base_name}"),
    "Shop": ("shop_e39c", "Shop.{hvr_schema}.{hvr_tbl_base_name}"),
    "my%20sh%C3%B6p": ("my_sh_p_ef25", "my_sh_p.{hvr_schema}.{hvr_tbl_base_name}"),
}


def test_channels_and_topics_of_a_command_have_the_whole_name_of_the_database():
    made = {}
    for database in NAMES_OF:
        channel = channel_of(Asked(f"postgresql://me@db/{database}", "k:9092"))
        made[database] = channel.name, yaml.safe_load(channel.text)["locations"]["kaf"]["Kafka_Default_Topic"]
    assert made == NAMES_OF
    names = [name for name, _ in made.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(NAME, name) for name in names)


def test_patterns_of_a_command_may_have_commas_between():
    asked = Asked("mysql://me@db/shop", "k:9092", tables=("a,b", "c"), exclude=("d, e",), text_columns=("t.v",))
    location = yaml.safe_load(channel_of(asked).text)["locations"]["src"]
    given = {key: location[key] for key in ("tables", "exclude", "text_columns", "on_rewrite", "values_without_form")}
    assert given == {
        "tables": ["a", "b", "c"],
        "exclude": ["d", "e"],
        "text_columns": ["t.v"],
        "on_rewrite": "read_again",
        "values_without_form": "null",
    }


REFUSED_COMMANDS = [
    (Asked("oracle://db/shop", "k"), "no address that changes are captured from: oracle"),
    (Asked("postgresql://db", "k"), "names no database"),
    (Asked("postgresql://db/shop", "k", format="avro"), "needs a schema registry"),
    (Asked("postgresql://db/shop", "k", registry="http://r", format="json"), "--registry is for avro"),
    (Asked("postgresql://db/shop", "k", format="xml"), "is none of connect-json, json"),
]


@pytest.mark.parametrize(("asked", "reason"), REFUSED_COMMANDS)
def test_a_command_that_cannot_be_is_refused(asked, reason):
    with pytest.raises(ConfigurationError, match=reason):
        channel_of(asked)


@pytest.mark.parametrize(("dialect", "expected"), [("postgres", String()), ("mysql", Float(64))])
def test_numbers_of_mysql_always_have_a_form(dialect, expected):
    sql = "create table public.a (k int primary key, v double precision not null);"
    known = Definitions().with_text(Definition(sql, dialect, {"public.a": ["k", "v"]}))
    [table] = with_forms(known.tables(), "text")
    assert table.column("v").type == expected
    [table] = with_forms(known.tables(), "null")
    assert table.column("v").nullable == (dialect == "postgres")


def test_a_condition_on_keys_is_one_statement_whatever_the_keys_are():
    """A semicolon would begin another one, and is refused of users."""
    table = Captured(Relation(1, "public", "t", "d", ()), whole=False, partitioned=False)
    assert table.condition(["k"], [["a;b'\\"], ["c'"]]) == "(\"k\") in ((E'a\\x3bb''\\\\'), ('c'''))"
