"""Changes captured from a PostgreSQL: rows that tables have, and all that is committed after, each once and in order."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from pathlib import Path

import pytest

from integrator import plan
from integrator.errors import ConfigurationError, DataError, EnvironmentFault
from integrator.run.state.directory import State
from integrator.sources.capture import record as records
from integrator.sources.postgres.source import Postgres
from integrator.sources.spool import SPOOL
from tests.parts import in_process, kafka_io, postgres, replays
from tests.parts.daemon import ROOT, Daemon
from tests.parts.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]


class Crash(Exception):
    pass


def crash(*_args):
    raise Crash


ROWS = [
    '{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}',
    '{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}',
    "{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, "
    'IntegrateExpression: "{hvr_integ_seq}"}',
]
"""Each row is a message, with its operation and its position."""


@pytest.fixture(scope="module", params=["of this machine", "of PyPI"])
def server(request):
    """Debian's, 15 or newer; and the package's, 18."""
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(postgres.from_pypi()) if request.param == "of PyPI" else None
        yield stack.enter_context(postgres.cluster(found=found))


@pytest.fixture
def database(server, name):
    server.psql(f"create database {name}")
    yield Database(server, name)
    server.psql(
        f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '{name}' and not active"
    )
    server.psql(f"drop database {name} with (force)")


class Database:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def run(self, sql):
        return self.server.psql(sql, self.name)

    @property
    def address(self):
        return self.server.address(self.name)


@pytest.fixture
def channel(database, broker, tmp_path, name):
    def write(location="", more="", actions=ROWS):
        path = tmp_path / "channel.yaml"
        listed = "".join(f"\n  - {one}" for one in actions)
        topic = (
            f'Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}'
        )
        path.write_text(
            f"""
channel: {name}
state: {tmp_path}/state
locations:
  src: {{class: postgres, address: "{database.address}"{location}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], {topic}{more}}}
actions:{listed or " []"}
"""
        )
        return path

    return write


def rows_of(broker, *topics):
    """The rows of topics by their topic, in order of partitions and offsets."""
    found = defaultdict(list)
    for message in kafka_io.read_all(broker.servers, list(topics)):
        found[message.topic].append(json.loads(message.value))
    return found


def test_rows_that_are_there_and_changes_that_follow(database, broker, channel, integrate_once, name):
    database.run(
        "create table t(k int primary key, v text); insert into t select g, 'row ' || g from generate_series(1, 1000) g"
    )
    path = channel()
    integrate_once(path)
    integrate_once(path)  # nothing is new
    database.run("insert into t values (1001, 'new'); update t set v = 'other' where k = 1; delete from t where k = 2")
    database.run(
        "begin; update t set k = 3000 where k = 3; rollback; begin; update t set k = 4000 where k = 4; truncate t; commit"
    )
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert sorted(row["k"] for row in rows[:1000]) == list(range(1, 1001))
    assert [(row["op"], row["k"]) for row in rows[1000:]] == [
        (1, 1001), (2, 1), (0, 2), (3, 4), (2, 4000), (5, None),
    ]  # fmt: skip
    assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})


@pytest.mark.parametrize("change", ["alter table t add column w int default 7", "create table late(k int primary key)"])
def test_i8_a_cycle_that_was_committed_and_not_synced_is_sent_as_it_was_begun(
    change, database, broker, channel, integrate_once, name, monkeypatch
):
    """Whatever the catalogue has become meanwhile: its definitions are those of when the cycle was begun."""
    database.run("create table t(k int primary key, v text); insert into t values (1, 'there')")
    path = channel()
    path.write_text(f"{path.read_text()}delivery: exactly_once\n")
    integrate_once(path)
    database.run("insert into t values (2, 'committed')")
    with monkeypatch.context() as patched:
        patched.setattr(State, "mark", crash)
        with pytest.raises(Crash):
            integrate_once(path)
    database.run(f"{change}; insert into t values (3, 'after')")
    integrate_once(path)
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [row["k"] for row in rows] == [1, 2, 3]
    assert ("w" in rows[2]) == ("column" in change)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("change", ["alter table t add column w int default 7", "create table late(k int primary key)"])
def test_i8_a_sub_cycle_that_was_sent_and_not_synced_is_sent_as_it_was_begun(
    change, delivery, database, broker, channel, spark, name, monkeypatch
):
    database.run("create table t(k int primary key, v text); insert into t values (1, 'there')")
    path, failed = channel(), []
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")

    def run():
        try:
            in_process.integrate(spark, path, once=False)
        except Crash as crash:
            failed.append(crash)

    in_process.integrate(spark, path)
    database.run("insert into t values (2, 'sent')")  # by a cycle, which sub-cycles follow
    state, real = State(plan.build(str(path), "UTC").state), State.mark_more

    def mark_more(of, done, *more):
        if done.rows:
            raise Crash
        return real(of, done, *more)

    with monkeypatch.context() as patched:
        patched.setattr(State, "mark_more", mark_more)
        running, before = threading.Thread(target=run), state.marks.cycles()
        running.start()
        until(lambda: state.marks.cycles() > before)
        database.run("insert into t values (3, 'sent')")
        running.join(PATIENCE_S)
    assert failed
    assert state.is_in_cycle
    database.run(f"{change}; insert into t values (4, 'after')")
    in_process.integrate(spark, path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    again = [3] if delivery == "at_least_once" else []
    assert [row["k"] for row in rows] == [1, 2, 3, *again, 4]
    assert ("w" in rows[-1]) == ("column" in change)
    assert not state.is_in_cycle


def test_i8_each_of_two_crashes_is_mended_by_the_definitions_of_its_cycle(
    database, broker, channel, integrate_once, name, monkeypatch
):
    """The table is altered after each. The second cycle is begun by other definitions than the first was."""
    database.run("create table t(k int primary key, v text); insert into t values (1, 'there')")
    path = channel()
    path.write_text(f"{path.read_text()}delivery: exactly_once\n")
    integrate_once(path)
    real = State.mark
    for number, column in enumerate("wx", 1):
        database.run(f"insert into t(k, v) values ({number + 1}, 'committed')")

        def mark(state, done, *more, number=number):
            if done.cycle == number:
                raise Crash
            return real(state, done, *more)

        with monkeypatch.context() as patched:
            patched.setattr(State, "mark", mark)
            with pytest.raises(Crash):
                integrate_once(path)
        database.run(f"alter table t add column {column} int default 7")
    database.run("insert into t(k, v) values (4, 'after')")
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [row["k"] for row in rows] == [1, 2, 3, 4]
    assert [sorted({"w", "x"} & row.keys()) for row in rows] == [[], [], ["w"], ["w", "x"]]


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_cycle_that_failed_by_what_the_catalogue_was_is_mended_by_a_start(
    delivery, database, broker, channel, integrate_once, name, monkeypatch
):
    """Nothing of it is committed, so that it need not be sent as it was begun: the start asks the catalogue."""
    database.run("create table t(k int primary key, v text not null); insert into t values (1, 'there')")
    path = channel(actions=[one for one in ROWS if "FileFormat" not in one])
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")
    integrate_once(path)
    database.run("alter table t alter v drop not null; insert into t values (2, null)")
    real = Postgres.defines
    with monkeypatch.context() as patched:  # as a process that began before
        patched.setattr(Postgres, "defines", lambda self, *topics, asks=True: real(self, *topics, asks=False))
        with pytest.raises(DataError, match="null, where the definition says not null"):
            integrate_once(path)
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [row["payload"]["v"] for row in rows] == ["there", None]


def test_what_is_not_sent_is_shown_where_it_is_asked_for(database, channel, integrate_once):
    database.run("create table t(k int primary key, v text)")
    path = channel()
    integrate_once(path)
    database.run("insert into t select g, repeat('x', 100) from generate_series(1, 1000) g")
    command = [sys.executable, str(ROOT / "run.py"), "state", "--channel", str(path), "--connect"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "not sent: 0 slices, 0 B" in told
    assert "log kept by the database (reserved): " in told
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert found["lag_files"] == 0
    assert found["server_log"]["behind_bytes"] > 100_000


def test_tables_and_columns_that_come_later(database, broker, channel, integrate_once, name):
    """The new table's rows come before its changes; a column that is dropped is missing, one that is wider has its type."""
    database.run("create table t(k int primary key, v text, n int); insert into t values (1, 'a', 1)")
    path = channel()
    integrate_once(path)
    database.run(
        "insert into t values (2, 'b', 2); alter table t add column x date; insert into t values (3, 'c', 3, '2026-11-27')"
    )
    database.run(
        "alter table t drop column v; alter table t alter column n type bigint; insert into t values (4, 1::bigint << 40, null)"
    )
    database.run("create table late(k int primary key); insert into late values (1)")
    integrate_once(path)
    database.run("insert into late values (2)")
    integrate_once(path)
    found = rows_of(broker, f"{name}.t", f"{name}.late")
    rows = [{key: value for key, value in row.items() if key not in ("op", "seq")} for row in found[f"{name}.t"]]
    assert rows == [
        {"k": 1, "v": "a", "n": 1},
        {"k": 2, "n": 2, "v": "b"},
        {"k": 3, "n": 3, "x": "2026-11-27", "v": "c"},
        {"k": 4, "n": 1 << 40, "x": None},
    ]
    assert [row["k"] for row in found[f"{name}.late"]] == [1, 2]


def test_replica_identities_and_unchanged_long_values(database, broker, channel, integrate_once, name):
    database.run("create table d(k int primary key, v text, n int); create table f(k int, v text, n int)")
    database.run("alter table f replica identity full; create table none(k int)")
    for table in "df":
        database.run(
            f"insert into {table} values (1, (select string_agg(md5(g::text), '') from generate_series(1, 500) g), 1)"
        )
    path = channel()
    integrate_once(path)
    database.run("update d set n = 2; update f set n = 2; delete from d; delete from f; insert into none values (1)")
    integrate_once(path)
    found = rows_of(broker, f"{name}.d", f"{name}.f")
    assert [(row["op"], "v" in row, row.get("n")) for row in found[f"{name}.d"]] == [
        (1, True, 1),
        (2, False, 2),
        (0, False, None),
    ]
    rows = found[f"{name}.f"]
    assert [(row["op"], row["n"]) for row in rows] == [(1, 1), (3, 1), (2, 2), (0, 2)]
    assert len({row["v"] for row in rows}) == 1
    notes = [note for note in plan.build(str(path), "UTC").notes if "not captured" in note]
    assert len(notes) == 1
    assert notes[0].startswith("table public.none is not captured: it has no primary key and no replica identity")


def test_values_that_formats_lack_are_sent_as_text_where_that_is_asked_for(
    database, broker, channel, integrate_once, name
):
    fill = "insert into t values (%s, 'infinity', '0044-03-15 BC', 'NaN', '{a,NULL}')"
    database.run(f"create table t(k int primary key, a timestamp, b date, c numeric, d text[]); {fill % 1}")
    path = channel(f', text_columns: ["{database.run("show search_path").split(",")[-1].strip()}.t.[a-d]"]')
    integrate_once(path)
    database.run(fill % 2)
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [[row[one] for one in "kabcd"] for row in rows] == [
        [number, "infinity", "0044-03-15 BC", "NaN", "{a,NULL}"] for number in (1, 2)
    ]


def test_a_rejected_change_is_mended_and_replayed_in_its_transaction(
    database, broker, channel, integrate_once, name, command, spark
):
    """Its segment is gone by then: the letter has the position of its transaction."""
    database.run("create table t(k int primary key, a date)")
    path = replays.tolerant(channel(), f"{name}.dead")
    integrate_once(path)
    database.run("begin; insert into t values (1, '2026-01-01'), (2, 'infinity'); delete from t where k = 1; commit")
    for key in (3, 4):  # the segments before are removed
        database.run(f"insert into t values ({key}, '2026-01-03')")
        integrate_once(path)
    lines = replays.replay_mended(command, spark, path, "infinity", "2026-01-02")
    assert [line[:13] for line in lines[1:]] == ['{"action":"B"', '{"action":"I"']
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [(row["op"], row["k"]) for row in rows] == [(1, 1), (0, 1), (1, 3), (1, 4), (1, 2)]
    assert rows[4]["seq"][:20] == rows[0]["seq"][:20] < rows[2]["seq"][:20], "of one transaction"
    assert rows[4]["a"] == "2026-01-02"


def test_partitions_are_their_root_or_each_a_table(database, broker, channel, integrate_once, name):
    database.run("create table p(k int primary key, v text) partition by range (k)")
    for number in range(2):
        database.run(f"create table p{number} partition of p for values from ({number}) to ({number + 1})")
    database.run("insert into p values (0, 'there')")
    path = channel()
    integrate_once(path)
    database.run(
        "insert into p values (1, 'new'); create table p2 partition of p for values from (2) to (3); insert into p values (2, 'later')"
    )
    integrate_once(path)
    assert [row["k"] for row in rows_of(broker, f"{name}.p")[f"{name}.p"]] == [0, 1, 2]


def test_what_is_gone_is_an_error_and_forget_begins_anew(database, channel, integrate_once, name, capsys):
    database.run("create table t(k int primary key)")
    path = channel()
    integrate_once(path)
    slot = f"integrator_{name}"
    database.run(
        f"set synchronous_commit = on; insert into t values (1); select pg_replication_slot_advance('{slot}', pg_current_wal_lsn())"
    )
    with pytest.raises(EnvironmentFault, match=r"was confirmed up to .* by somebody else"):
        integrate_once(path)
    state = Path(plan.build(str(path), "UTC").state)
    record = state / SPOOL / records.FILE
    kept = record.read_bytes()
    record.write_text("damaged")
    with pytest.raises(EnvironmentFault, match=r"is damaged .*integrator forget --channel FILE"):
        integrate_once(path)
    capsys.readouterr()
    assert in_process.command("forget", "--channel", path) == 0  # the remedy works, whatever the state is
    assert capsys.readouterr().out.splitlines() == [f"dropped: replication slot {slot}", f"dropped: publication {slot}"]
    record.write_bytes(kept)
    with pytest.raises(EnvironmentFault, match=r"is not there any more: changes after .* are gone; to begin anew"):
        integrate_once(path)


def test_a_user_who_may_not_is_told_what_to_run(server, database, channel, name):
    database.run(f"create table t(k int primary key); create role {name} login")
    path = channel()
    database.run("create table parent(k int primary key); create table child() inherits (parent)")
    database.run("alter table child add primary key (k); revoke usage on schema public from public")
    path.write_text(path.read_text().replace("postgresql://postgres@", f"postgresql://{name}@"))
    with pytest.raises(ConfigurationError) as raised:
        plan.build(str(path), "UTC")
    reason, *script = str(raised.value).splitlines()
    assert "no table is captured: our user lacks rights: it may not use the schema public; it may not read" in reason
    assert script == [
        f'  grant usage on schema "public" to "{name}";',
        f'  grant select on "public"."child", "public"."parent", "public"."t" to "{name}";',
        f'  alter role "{name}" replication;',
        f'  create publication "integrator_{name}" for table "public"."child", only "public"."parent", "public"."t" with '
        "(publish_via_partition_root = true);",
    ]
    database.run("\n".join(script))
    made = plan.build(str(path), "UTC")
    assert [*made.changes.reach("")] == []
    database.run(f"drop publication integrator_{name}")
    [(_, text)] = made.changes.reach("")
    assert text.splitlines()[1:] == script[3:]
    database.run(f"create publication integrator_{name} for table t with (publish = 'insert')")
    [(key, text)] = made.changes.reach("")
    assert key == "publication"
    assert "does not publish all changes" in text
    database.run(f"drop publication integrator_{name}; drop owned by {name}; drop role {name}")


TYPES = {
    "b": ("boolean", "true", "false"),
    "i2": ("smallint", "-32768", "32767"),
    "i4": ("integer", "-2147483648", "2147483647"),
    "i8": ("bigint", "-9223372036854775808", "9223372036854775807"),
    "n": ("numeric(38, 9)", "-99999999999999999999999999999.999999999", "0.000000001"),
    "u": ("numeric", "'123456789012345678901234567890.5'", "'NaN'"),
    "f4": ("real", "'-3.4028235e38'", "'1e-45'"),
    "f8": ("double precision", "'1.7976931348623157e308'", "'-5e-324'"),
    "m": ("money", "'-92233720368547758.08'", "'1234.5'"),
    "c": ("char(5)", "'ab'", "'\u00fc\"\\\\'"),
    "v": ("varchar(40)", "E'tab\\t line\\n quote\" back\\\\slash'", "''"),
    "t": ("text", "E'\\x01\\x0b\\x1f\\x7f \U0001f600'", "repeat('long ', 5000)"),
    "bin": ("bytea", "'\\x00ff5c0a'", "'\\x'"),
    "d": ("date", "'0001-01-01'", "'9999-12-31'"),
    "tm": ("time", "'00:00:00.000001'", "'23:59:59.999999'"),
    "tz": ("timetz", "'12:30:00+05:30'", "'00:00:00-12'"),
    "ts": ("timestamp", "'2026-11-27 01:02:03.456789'", "'0001-01-01 00:00:00'"),
    "tsz": ("timestamptz", "'2026-11-27 01:02:03.456789+02'", "'9999-12-31 23:59:59.999999+00'"),
    "iv": ("interval", "'1 year 2 mons 3 days 04:05:06.789'", "'00:00:01'"),
    "id": ("uuid", "'6ecd8c99-4036-403d-bf84-cf8400f67836'", "'00000000-0000-0000-0000-000000000000'"),
    "j": ("json", """'{"a" : [1, "x\\"y"], "b":null}'""", "'null'"),
    "jb": ("jsonb", """'{"a": [1, 2.50]}'""", "'[]'"),
    "ip": ("inet", "'192.168.0.1/24'", "'::1'"),
    "ci": ("cidr", "'10.0.0.0/8'", "'2001:db8::/32'"),
    "ma": ("macaddr", "'08:00:2b:01:02:03'", "'ff:ff:ff:ff:ff:ff'"),
    "bt": ("bit(5)", "B'10101'", "B'00000'"),
    "vb": ("bit varying(9)", "B'1'", "B'101010101'"),
    "p": ("point", "'(1.5,-2)'", "'(0,0)'"),
    "tv": ("tsvector", "'a fat cat'", "''"),
    "r": ("int4range", "'[1,10)'", "'empty'"),
    "ai": ("integer[]", "'{1,2,3}'", "'{}'"),
    "at": ("text[]", """'{"a,b","NULL","q\\"uote"}'""", "'{x}'"),
    "e": ("mood", "'sad'", "'very happy'"),
    "dm": ("positive", "1", "2147483647"),
    "co": ("pair", "'(1,\"a b\")'", "'(,)'"),
    "o": ("oid", "1", "4294967295"),
}


OWN_TYPES = """
create type mood as enum ('sad', 'very happy');
create domain positive as integer check (value > 0);
create type pair as (a int, b text);
"""


@pytest.mark.parametrize("kind", ["", "AVRO", "PROTOBUF"])
def test_values_of_every_type_are_the_same_from_the_table_and_from_its_changes(
    kind, database, broker, registry_server, channel, integrate_once, name
):
    """Byte for byte: in Connect JSON, Avro and Protobuf."""
    types = dict(TYPES)
    with contextlib.suppress(RuntimeError):  # PyPI's server is built without libxml
        database.run("select '<a/>'::xml")
        types["x"] = ("xml", "'<a>\u00e4</a>'", "'<b/>'")
    columns = ", ".join(f"{one} {type_}" for one, (type_, *_) in types.items())
    database.run(f"{OWN_TYPES} create table t(k int primary key, {columns})")
    lines = [*zip(*(values for _, *values in types.values()), strict=True), ["null"] * len(types)]
    inserts = "; ".join(f"insert into t values ({number}, {', '.join(line)})" for number, line in enumerate(lines))
    database.run(inserts)
    at_registry = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: {kind}'
    path = channel(more=at_registry if kind else "", actions=[])
    integrate_once(path)
    database.run(f"delete from t; {inserts}")
    integrate_once(path)
    values = [message.value for message in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert len(values) == 6  # deletes have no messages here
    assert values[3:] == values[:3]


def test_a_daemon_ends_with_what_is_gone(server, database, channel, name):
    """The slot is dropped while it runs: it does not continue as if nothing came any more."""
    database.run("create table t(k int primary key); insert into t values (1)")
    daemon = Daemon(channel())
    daemon.wait_for("cycle synced")
    slot = f"integrator_{name}"

    def is_dropped():
        """A backend that is ended has the slot for a moment yet."""
        with contextlib.suppress(RuntimeError):
            database.run(
                f"select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = '{slot}'; "
                f"select pg_drop_replication_slot('{slot}')"
            )
        return database.run(f"select count(*) from pg_replication_slots where slot_name = '{slot}'").strip() == "0"

    until(is_dropped)
    assert daemon.wait() == 5
    [event] = daemon.events("the process ends")
    assert f"the replication slot {slot} is not there any more" in event["error"]


def test_one_command_needs_no_channel(database, broker, tmp_path, name):
    """It prints what is sent where; the channel that it writes for itself runs alike."""
    database.run("create table t(k int primary key, v text); insert into t values (1, 'there')")
    words = ["run", "--from", database.address, "--to", broker.servers, "--state", str(tmp_path), "--once"]
    environment = {**os.environ, "SPARK_MASTER": "local[2]"}

    def run(*words):
        return subprocess.run(
            [sys.executable, "run.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    done = run(*words, "--format", "json")
    assert done.returncode == 0, done.stderr[-2000:]
    short = name[:12]
    assert f"public.t (2 columns; k) to {short}.public.t" in done.stdout
    database.run("insert into t values (2, 'new')")
    assert run("--channel", str(tmp_path / f"{short}.yaml"), "--once").returncode == 0
    sent = rows_of(broker, f"{short}.public.t")[f"{short}.public.t"]
    assert sorted((row["k"], row["v"], row["op_val"]) for row in sent) == [(1, "there", 1), (2, "new", 1)]
    assert run("forget", "--channel", str(tmp_path / f"{short}.yaml")).stdout.splitlines() == [
        f"dropped: replication slot integrator_{short}",
        f"dropped: publication integrator_{short}",
    ]


def test_a_slot_of_another_program_is_continued_at_its_position(database, broker, channel, integrate_once, name):
    database.run(
        f"create table t(k int primary key); insert into t values (0); create publication {name} for table t; "
        f"create table late(k int primary key); insert into late values (7)"
    )
    path = channel(f', slot: {name}, publication: {name}, start_position: "0/1"')
    with pytest.raises(EnvironmentFault, match=f"start_position: the replication slot {name} is not there"):
        integrate_once(path)
    database.run(f"select pg_create_logical_replication_slot('{name}', 'pgoutput')")
    with pytest.raises(EnvironmentFault, match="and does not have the changes from 0/1 on: give the position"):
        integrate_once(path)
    database.run("insert into t values (1); insert into t values (2)")
    position = database.run("select pg_current_wal_insert_lsn()").strip()
    database.run("insert into t values (3); insert into late values (8)")
    channel(f', slot: {name}, publication: none, start_position: "{position}"')
    with pytest.raises(EnvironmentFault, match="start_position: the publication none is not there, or has no table"):
        integrate_once(path)
    channel(f', slot: {name}, publication: {name}, start_position: "{position}"')
    integrate_once(path)
    database.run("insert into t values (4); insert into late values (9)")
    integrate_once(path)
    found = rows_of(broker, f"{name}.t", f"{name}.late")
    assert [row["k"] for row in found[f"{name}.t"]] == [3, 4], "without the rows that there were"
    assert [row["k"] for row in found[f"{name}.late"]] == [7, 8, 9], "a table that was not published has its rows read"
